#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string reason(int code) { return std::generic_category().message(code); }

/// Returns 0, or the errno of the write that failed.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

[[noreturn]] void fail_to_write(const fs::path& path, int code) {
  throw Error("cannot write {}: {}", path.string(), reason(code));
}

/// Until there are bytes or their end. Throws Interrupted.
void wait_for_bytes(int fd) {
  pollfd waits[] = {{fd, POLLIN, 0}, {interrupt_fd(), POLLIN, 0}};
  while (::poll(waits, 2, -1) < 0 && errno == EINTR) {
  }
  if (waits[0].revents == 0 && waits[1].revents != 0) throw Interrupted();
}

/// `path`, made if it is missing, as a folder that only this user can write to: in a folder that
/// all may write to, anybody may have made it first, with kernels of theirs in it.
fs::path private_folder(const fs::path& path) {
  ::mkdir(path.c_str(), 0700);
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) {
    throw Error("cannot create {}: {}", path.string(), reason(errno));
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 0022) != 0) {
    throw Error(
        "{} is not a folder that this user alone can write to, so that it cannot be trusted to "
        "hold compiled kernels; remove it, or set HOME or XDG_CACHE_HOME",
        path.string());
  }
  return path;
}

/// Makes `cache`, below `base`, where it is missing, for this user alone whatever the umask.
/// Returns why it cannot be used; empty if it can. Throws Error where anybody may have put kernels
/// there, as below a HOME that is /tmp.
std::string why_unusable(const fs::path& base, const fs::path& cache) {
  std::error_code error;
  fs::create_directories(cache.parent_path(), error);
  int code = error.value();
  if (::mkdir(cache.c_str(), 0700) != 0 && code == 0) code = errno;
  struct stat of_base = {}, of_cache = {};
  if (::stat(cache.c_str(), &of_cache) != 0 || ::stat(base.c_str(), &of_base) != 0) {
    return fmt::format("cannot create {}: {}", cache.string(), reason(code));
  }
  const uid_t user = ::geteuid();
  // The owner of HOME may do as they please there, but their kernels do not run as root.
  if (user == 0 && of_cache.st_uid != 0) return cache.string() + " is another user's";
  const bool is_own = of_cache.st_uid == user || of_cache.st_uid == of_base.st_uid;
  if (!is_own || (of_cache.st_mode & 0002) != 0) {
    throw Error(
        "{} is another user's, or all may write to it, so that it cannot be trusted to hold "
        "compiled kernels; remove it, or set XDG_CACHE_HOME",
        cache.string());
  }
  if (::access(cache.c_str(), W_OK | X_OK) != 0) {
    return fmt::format("cannot write to {}: {}", cache.string(), reason(errno));
  }
  return {};
}

// A random name. A counter or the process's id would not do: containers and hosts that share a
// folder can have the same ids.
fs::path temporary_beside(const fs::path& path) {
  // Not std::random_device, which asks glibc 2.36 or later where libstdc++ is a part of the
  // program.
  std::uint64_t suffix = 0;
  if (::getrandom(&suffix, sizeof suffix, 0) != sizeof suffix) {
    throw Error("cannot name a file beside {}: {}", path.string(), reason(errno));
  }
  fs::path temporary = path;
  temporary += fmt::format(".{:016x}.tmp", suffix);
  return temporary;
}

[[noreturn]] void fail_to_read(const fs::path& path, int code) {
  throw UsageError("cannot read {}: {}", path.string(), reason(code));
}

}  // namespace

// Not blocking: to open a pipe that nobody writes to would wait, and Ctrl-C would not end that.
FileReader::FileReader(const fs::path& path)
    : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat info = {};
  if (!fd_ || ::fstat(fd_.get(), &info) != 0) fail_to_read(path_, errno);
  if (S_ISREG(info.st_mode)) size_ = static_cast<std::size_t>(info.st_size);
}

std::size_t FileReader::read(std::span<char> into) {
  for (;;) {
    // Also of what says that it is a plain file: /proc/kmsg does, and has no end.
    wait_for_bytes(fd_.get());
    const ssize_t count = ::read(fd_.get(), into.data(), into.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR && errno != EAGAIN) fail_to_read(path_, errno);
  }
}

std::string read_file(const fs::path& path, std::size_t max_bytes) {
  FileReader file(path);
  std::string content;
  content.reserve(std::min(file.size(), max_bytes));
  char buffer[1 << 16];
  while (const std::size_t count = file.read(buffer)) {
    content.append(buffer, count);
    if (content.size() > max_bytes) {
      throw UsageError("{}: expected at most {} bytes, found more", path.string(), max_bytes);
    }
  }
  return content;
}

void write_file_atomic(const fs::path& path, std::string_view content) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  // A rename would replace /dev/stdout or a pipe by a plain file; these are written in place.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) fail_to_write(path, errno);
    if (const int code = write_all(fd.get(), content)) fail_to_write(path, code);
    return;
  }
  // Follow a link, so that the link stays and the file it names changes.
  fs::path target = fs::exists(status) ? fs::canonical(path, ignored) : path;
  if (target.empty()) target = path;
  const fs::path temporary = temporary_beside(target);
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) fail_to_write(path, errno);
  int code = write_all(fd.get(), content);
  fd.reset();
  if (code == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    fail_to_write(path, code);
  }
}

CacheFolder cache_folder() {
  CacheFolder folder;
  std::error_code ignored;
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path base, cache;
  // A relative path is invalid there, says the XDG base directory specification.
  if (xdg != nullptr && fs::path(xdg).is_absolute()) {
    base = xdg;
    cache = base / "assay";
  } else if (home != nullptr && fs::path(home).is_absolute() && fs::is_directory(home, ignored)) {
    base = home;
    cache = base / ".cache" / "assay";
  }
  if (!cache.empty()) {
    folder.warning = why_unusable(base, cache);
    if (folder.warning.empty()) return {cache, {}};
  }
  fs::path temporary = fs::temp_directory_path(ignored);
  if (temporary.empty()) temporary = "/tmp";
  folder.path = private_folder(temporary / fmt::format("assay-{}", ::geteuid()));
  if (!folder.warning.empty()) {
    folder.warning +=
        fmt::format("; compiled kernels are kept in {}; set XDG_CACHE_HOME", folder.path.string());
  }
  return folder;
}

fs::path cache_directory() { return cache_folder().path; }

void create_folder_of(const fs::path& file) {
  if (file.empty()) throw UsageError("expected the path of a file, found an empty one");
  const fs::path folder = file.parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return;
  const std::string message = fmt::format("cannot create {}: {}", folder.string(), error.message());
  if (is_mistake(error)) throw UsageError(message);
  throw Error(message);
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

bool is_mistake(const std::error_code& error) {
  return error == std::errc::not_a_directory || error == std::errc::is_a_directory ||
         error == std::errc::too_many_symbolic_link_levels ||
         error == std::errc::filename_too_long || error == std::errc::file_exists ||
         error == std::errc::invalid_argument;
}

WorkFolder::WorkFolder() {
  std::string name = (fs::temp_directory_path() / "assay-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw Error("cannot make a folder like " + name);
  path_ = name;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path shipped_folder() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"../share/assay", ".."}) {  // where it is installed, and built
    const fs::path folder = (program / place).lexically_normal();
    if (fs::is_directory(folder / "kernels/include/assay", ignored)) return folder;
  }
  return {};
}

}  // namespace assay
