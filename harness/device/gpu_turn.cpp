#include "device/gpu_turn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"

namespace assay {
namespace {

// How long to sleep between two tries: flock cannot be waited for together with a signal. A sweep
// needs longer than this to store a trial, so the other sweeps get their turns.
constexpr int kRetryMs = 1;

[[noreturn]] void fail(const char* what, int code) {
  throw Error(fmt::format("cannot {}: {}", what, std::generic_category().message(code)));
}

}  // namespace

GpuTurns::GpuTurns(const std::string& uuid) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
  if (folder.empty()) folder = "/tmp";
  const std::string path = (folder / fmt::format("assay-turn-{}.lock", uuid)).string();
  // Open it for reading: that is enough for a lock, and all that another user's file in a sticky
  // folder allows. A link could name any file, and a pipe would wait for a writer.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  fd_ = UniqueFd(::open(path.c_str(), kFlags));
  if (!fd_) fd_ = UniqueFd(::open(path.c_str(), kFlags | O_CREAT, 0644));
  if (!fd_) fail(("open " + path).c_str(), errno);
}

GpuTurns::Turn::~Turn() { ::flock(fd_, LOCK_UN); }

GpuTurns::Turn GpuTurns::wait() const {
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail("lock the GPU", errno);
    pollfd signal{interrupt_fd(), POLLIN, 0};
    if (::poll(&signal, 1, kRetryMs) > 0) throw Interrupted();
  }
  return Turn(fd_.get());
}

}  // namespace assay
