#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <system_error>
#include <utility>

#include "base/error.h"

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
  throw Error(fmt::format("cannot write {}: {}", path.string(), reason(code)));
}

// A random name. A counter or the process's id would not do: containers and hosts that share a
// folder can have the same ids.
fs::path temporary_beside(const fs::path& path) {
  std::random_device random;
  const std::uint64_t suffix = (std::uint64_t{random()} << 32) | random();
  fs::path temporary = path;
  temporary += fmt::format(".{:016x}.tmp", suffix);
  return temporary;
}

}  // namespace

std::string read_file(const fs::path& path) {
  const auto fail = [&path](int code) -> void {
    throw UsageError(fmt::format("cannot read {}: {}", path.string(), reason(code)));
  };
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fail(errno);
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    if (count == 0) return content;
    content.append(buffer, static_cast<std::size_t>(count));
  }
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

fs::path cache_directory() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  // A relative path is invalid there, says the XDG base directory specification.
  if (xdg != nullptr && fs::path(xdg).is_absolute()) return fs::path(xdg) / "assay";
  std::error_code ignored;
  const char* home = std::getenv("HOME");
  if (home != nullptr && fs::path(home).is_absolute() && fs::is_directory(home, ignored)) {
    return fs::path(home) / ".cache" / "assay";
  }
  fs::path temporary = fs::temp_directory_path(ignored);
  if (temporary.empty()) temporary = "/tmp";
  return temporary / fmt::format("assay-{}", ::getuid());
}

UniqueFd::UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

UniqueFd::~UniqueFd() { reset(); }

void UniqueFd::reset() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

}  // namespace assay
