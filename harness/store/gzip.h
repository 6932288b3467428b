#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/limits.h"

namespace assay {

/// The whole file, unpacked if it is gzip. Throws UsageError naming the file when it cannot be read
/// or is a damaged gzip file, or when it has more than `max_bytes`, packed or not.
std::string read_maybe_gzip(const std::filesystem::path& path,
                            std::size_t max_bytes = kMaxRecordingBytes);

/// `text` as a gzip file; the same text always gives the same bytes.
std::string gzip(std::string_view text);

}  // namespace assay
