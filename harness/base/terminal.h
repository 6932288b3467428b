#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

/// `text` without what could command a terminal: control characters, with which escape sequences
/// begin, and bytes that are not UTF-8 become '?'. Line ends and tabs stay.
std::string printable(std::string_view text);

/// The same for what must stay on one line: line ends and tabs become '?', too.
std::string printable_line(std::string_view text);

/// What a text is laid out for.
struct Terminal {
  std::size_t columns = 0;  // that a line may take; 0: no limit, as in a file
  bool has_color = false;
};

/// That of stdout: no limit where stdout is no terminal.
Terminal stdout_terminal();

/// The columns of the terminal behind `fd`: $COLUMNS, or what the terminal says, or 80. 0 where
/// there is no terminal.
std::size_t terminal_columns(int fd);

/// Colors always or never, whatever stdout is, here and in the processes that this one starts.
void set_color(bool on);

/// What a line says; has_color shows it.
enum class Style { plain, heading, good, warning, failure };

/// `text` in the color of `style`; write_out lets the color pass where stdout has colors.
std::string styled(std::string_view text, Style style);

/// `text` in lines of at most `columns`, broken at spaces, else behind commas.
std::vector<std::string> folded(std::string_view text, std::size_t columns);

/// The same as one text with line ends; the lines after the first are indented by two.
std::string folded_text(std::string_view text, const Terminal& terminal);

/// Columns that UTF-8 text takes on a terminal, counting every code point as one.
std::size_t width_of(std::string_view text);

/// Writes printable(text) to stdout at once. Throws Error when it cannot: lost output is a failure.
void write_out(std::string_view text);

/// Throws Error when anything that was written to stdout, also through std::cout, is lost.
void check_out();

/// Writes printable(text) to stderr; "warning:" and "assay:" at the beginning of a line are
/// coloured where stderr has colors. Failing to is ignored: nothing may end because its progress or
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
