#pragma once

#include <zlib.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/limits.h"

namespace assay {

/// A recording, unpacked, which is read line by line. Assay writes none that is larger: so many
/// bytes are seven million trials.
inline constexpr std::size_t kMaxStreamedBytes = std::size_t{4} << 30;

/// Reads a file of text, unpacked if it is gzip, piece by piece. All functions throw UsageError
/// naming the file when it cannot be read, is a damaged gzip file, or has more than `max_bytes`,
/// packed or not.
class TextReader {
 public:
  TextReader(const std::filesystem::path& path, std::size_t max_bytes);
  /// What comes next, until the next call; nothing at the end.
  std::string_view next();
  const std::filesystem::path& path() const { return path_; }

 private:
  struct EndInflate {
    void operator()(z_stream* stream) const;
  };
  std::string_view unpacked();
  [[noreturn]] void fail(std::string_view why) const;

  std::filesystem::path path_;
  FileReader file_;
  std::size_t max_bytes_;
  std::size_t num_bytes_ = 0;                     // of text so far
  std::string input_, output_;                    // fixed buffers
  std::size_t num_read_ = 0;                      // bytes of `input_` that nobody has taken yet
  bool is_member_done_ = false;                   // of the gzip file
  std::unique_ptr<z_stream, EndInflate> stream_;  // null for a plain file
};

/// Reads a file of text line by line; throws as TextReader does, and where a line has more than
/// kMaxJsonBytes.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path) : text_(path, kMaxStreamedBytes) {}
  /// Without its end, until the next call. Nothing behind the last.
  std::optional<std::string_view> next();

 private:
  TextReader text_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line
  std::size_t searched_ = 0;  // where no line ends before
};

/// The whole text of a file; throws as TextReader does.
std::string read_maybe_gzip(const std::filesystem::path& path,
                            std::size_t max_bytes = kMaxRecordingBytes);

/// `text` as a gzip file; the same text always gives the same bytes.
std::string gzip(std::string_view text);

}  // namespace assay
