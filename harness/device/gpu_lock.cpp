#include "device/gpu_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"

namespace assay {

GpuLock::GpuLock(const std::string& uuid) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("assay-gpu-{}.lock", uuid)).string();
  // Read-only is enough to lock, and works on the file of another user, which a sticky folder
  // forbids to open with O_CREAT.
  fd_ = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_) fd_ = UniqueFd(open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!fd_) throw Error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  while (flock(fd_.get(), LOCK_EX) != 0) {
    if (errno != EINTR) throw Error(fmt::format("cannot lock {}: {}", path, std::strerror(errno)));
  }
}

}  // namespace assay
