#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace assay {

/// `text` without what could command a terminal: control characters, with which escape sequences
/// begin, and bytes that are not UTF-8 become '?'. Line ends and tabs stay.
std::string printable(std::string_view text);

/// The same for what must stay on one line: line ends and tabs become '?', too.
std::string printable_line(std::string_view text);

/// Writes printable(text) to stdout at once. Throws Error when it cannot: lost output is a failure.
void write_out(std::string_view text);

/// Throws Error when anything that was written to stdout, also through std::cout, is lost.
void check_out();

/// Writes printable(text) to stderr. Failing to is ignored: nothing may end because its progress or
/// its warnings cannot be seen.
void write_err(std::string_view text);

/// write_out and write_err of a formatted text.
template <typename... Args>
void print_out(fmt::format_string<Args...> format, Args&&... args) {
  write_out(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) {
  write_err(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace assay
