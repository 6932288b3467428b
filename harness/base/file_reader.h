#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/file.h"

namespace assay {

/// Reads a file from its beginning to its end. It may be a pipe, which is waited for. All functions
/// throw UsageError "cannot read PATH: reason"; Interrupted while waiting.
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

}  // namespace assay
