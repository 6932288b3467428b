#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// The whole file. Throws UsageError "cannot read PATH: reason".
std::string read_file(const std::filesystem::path& path);

/// Publishes `content` at `path` by writing a temporary file beside it and renaming, so that a
/// reader sees the old file, the new one, or none, never a part. Throws Error on failure.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);

/// Where compiled kernels and measured ceilings are kept: $XDG_CACHE_HOME/assay, else
/// ~/.cache/assay, else a folder under the system's temporary directory.
std::filesystem::path cache_directory();

/// An owned file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept;
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace assay
