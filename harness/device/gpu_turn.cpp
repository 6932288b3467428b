#include "device/gpu_turn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/terminal.h"

namespace assay {
namespace {

// How long to sleep between two tries: flock cannot be waited for together with a signal. A sweep
// needs longer than this to store a trial, so the other sweeps get their turns.
constexpr int kRetryMs = 1;

// Turns last as long as a trial: whoever waits longer than most trials take should know why.
constexpr int kSilentMs = 2000;

/// "process 4711 (assay)", which has the lock of this file, as far as the system tells.
std::string holder_of(int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return "another process";
  // 1: FLOCK  ADVISORY  WRITE 4711 08:01:1311 0 EOF
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, how, mode, file;
    long pid = 0;
    if (!(words >> number >> kind >> how >> mode >> pid >> file)) continue;
    if (kind != "FLOCK" || !file.ends_with(fmt::format(":{}", info.st_ino))) continue;
    std::ifstream status(fmt::format("/proc/{}/comm", pid));
    std::string name;
    std::getline(status, name);
    if (pid > 0) return fmt::format("process {} ({})", pid, name);
  }
  return "another process";
}

}  // namespace

GpuTurns::GpuTurns(const std::string& uuid) {
  std::error_code ignored;
  std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
  if (folder.empty()) folder = "/tmp";
  path_ = (folder / fmt::format("assay-turn-{}.lock", uuid)).string();
  // Open it for reading: that is enough for a lock, and all that another user's file in a sticky
  // folder allows. A link could name any file, and a pipe would wait for a writer.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  fd_ = UniqueFd(::open(path_.c_str(), kFlags));
  if (!fd_ && errno == ENOENT) {
    fd_ = UniqueFd(::open(path_.c_str(), kFlags | O_CREAT | O_EXCL, 0666));
    if (!fd_ && errno == EEXIST) fd_ = UniqueFd(::open(path_.c_str(), kFlags));
    // Whatever this user's umask is, the next user has to open the file.
    if (fd_) ::fchmod(fd_.get(), 0666);
  }
  if (!fd_) warn_of("open", errno);
}

void GpuTurns::warn_of(const char* what, int code) {
  print_err(
      "warning: cannot {} {}: {}; sweeps of other processes on this GPU are not waited for, and "
      "times may be too long\n",
      what, path_, std::generic_category().message(code));
  fd_.reset();
}

GpuTurns::Turn::~Turn() { ::flock(fd_, LOCK_UN); }

GpuTurns::Turn GpuTurns::wait() {
  for (int waited_ms = 0; fd_ && ::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      warn_of("lock", errno);
      break;
    }
    pollfd signal{interrupt_fd(), POLLIN, 0};
    if (::poll(&signal, 1, kRetryMs) > 0) throw Interrupted();
    waited_ms += kRetryMs;
    if (waited_ms >= kSilentMs && !has_said_that_it_waits_) {
      has_said_that_it_waits_ = true;
      print_err("waiting for the GPU: {} has its turn ({})\n", holder_of(fd_.get()), path_);
    }
  }
  return Turn(fd_.get());
}

}  // namespace assay
