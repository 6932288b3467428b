#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace assay {

/// A YAML file's text and name, kept so that errors can quote the line.
struct SourceText {
  std::filesystem::path path;
  std::string text;
};

/// Reads `path` as UTF-8 text; a byte order mark is dropped and line ends become "\n". Throws
/// UsageError when it cannot be read, SpecError where it is not text.
std::shared_ptr<const SourceText> load_source(const std::filesystem::path& path);

/// A place in a file. Line and column count from 1. Columns are bytes here; messages show
/// characters. With `source` null it is not from a file.
struct Location {
  std::shared_ptr<const SourceText> source;
  int line = 0;
  int column = 0;
};

/// A line of the text, counted from 1; empty where it has fewer.
std::string_view line_of(const SourceText& source, int line);

/// The place of byte `offset` of the text.
Location location_at(const std::shared_ptr<const SourceText>& source, std::size_t offset);

/// A user's mistake in a file. what() is
///     sweeps/x.yaml:3:10: expected a list of integers, found "abc"
///       params: {STAGES: abc}
///                        ^
struct SpecError : UsageError {
  SpecError(const Location& where, const std::string& message);
  template <typename Part, typename... Parts>
  SpecError(const Location& where, fmt::format_string<Part, Parts...> format, Part&& part,
            Parts&&... parts)
      : SpecError(where,
                  fmt::format(format, std::forward<Part>(part), std::forward<Parts>(parts)...)) {}
};

}  // namespace assay
