#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// The whole file, unpacked if it is gzip. Throws UsageError naming the file when it cannot be read
/// or is a damaged gzip file.
std::string read_maybe_gzip(const std::filesystem::path& path);

/// `text` as a gzip file; the same text always gives the same bytes.
std::string gzip(std::string_view text);

}  // namespace assay
