#pragma once

#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/limits.h"

namespace assay {

/// The whole file. It may be a pipe, which is waited for. Throws UsageError "cannot read PATH:
/// reason", or when it has more than `max_bytes` (/dev/zero has no end); Interrupted while waiting.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes = kMaxFileBytes);

/// Publishes `content` at `path` by writing a temporary file beside it and renaming, so that a
/// reader sees the old file, the new one, or none, never a part. Throws Error on failure.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);

struct CacheFolder {
  std::filesystem::path path;
  std::string warning;  // why it is not the usual one; empty if it is
};

/// Where compiled kernels and measured ceilings are kept: $XDG_CACHE_HOME/assay, else
/// ~/.cache/assay, else a folder under the system's temporary directory. It is made, for this user
/// alone. Throws Error for one that others may write to.
CacheFolder cache_folder();
/// The path of cache_folder().
std::filesystem::path cache_directory();

/// Makes the folder of `file` and those above it, where they are missing. Throws UsageError where
/// the path cannot be a file's, Error where the machine refuses.
void create_folder_of(const std::filesystem::path& file);

/// Whether `path` names `folder` or something in it. Looks at the names alone.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

/// Whether an error of the file system lies in the path that was given, not in the machine.
bool is_mistake(const std::error_code& error);

/// An owned file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// Reads a file, or waits for a pipe, from its beginning to its end. All functions throw UsageError
/// "cannot read PATH: reason"; Interrupted while waiting.
class FileReader {
 public:
  explicit FileReader(const std::filesystem::path& path);
  /// How many bytes it has; 0 for a pipe.
  std::size_t size() const { return size_; }
  /// How many bytes were read; 0 at the end.
  std::size_t read(std::span<char> into);

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  std::size_t size_ = 0;
};

/// A new folder for temporary files, which goes away with this object.
class WorkFolder {
 public:
  WorkFolder();  // throws Error
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Where the kernels are that the program ships: PREFIX/share/assay where it is installed, the tree
/// where it was built, or an empty path.
std::filesystem::path shipped_folder();

}  // namespace assay
