#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace assay {
namespace {

/// Whether the character at the start of `text`, `length` bytes long, is a control character: of
/// ASCII, or U+0080 to U+009F, which some terminals obey, too, or U+202A to U+202E or U+2066 to
/// U+2069, which turn round what stands behind them, be it on a terminal or in an exported header.
bool is_control(std::string_view text, std::size_t length) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (length == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (length != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE) ||
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

constexpr std::string_view kPlain = "\x1b[0m";
/// Of each Style.
constexpr std::array<std::string_view, 5> kStyles{"", "\x1b[1m", "\x1b[1;32m", "\x1b[33m",
                                                  "\x1b[31m"};

/// The color at the start of `text`, one that styled() writes, or "".
std::string_view style_at(std::string_view text) {
  if (text.front() != '\x1b') return "";
  if (text.starts_with(kPlain)) return kPlain;
  const auto found = std::find_if(kStyles.begin() + 1, kStyles.end(),
                                  [&](std::string_view style) { return text.starts_with(style); });
  return found == kStyles.end() ? "" : *found;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// By the conventions of no-color.org and bixense.com/clicolors.
bool has_color(int fd) {
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE")) return true;
  const char* const type = std::getenv("TERM");
  return isatty(fd) != 0 && (type == nullptr || std::string_view(type) != "dumb");
}

enum class Colors { replaced, kept };

std::string without_controls(std::string_view text, std::string_view kept,
                             Colors colors = Colors::replaced) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (colors == Colors::kept) {
      const std::string_view style = style_at(text.substr(at));
      shown += style;
      at += style.size();
      if (!style.empty()) continue;
    }
    const std::size_t length = character_length(text.substr(at));
    const bool keep = kept.find(text[at]) != std::string_view::npos ||
                      // The line end of a CSV file.
                      (!kept.empty() && text.substr(at).starts_with("\r\n"));
    if (keep || (length > 0 && !is_control(text.substr(at), length))) {
      shown.append(text, at, length);
    } else {
      shown += '?';
    }
    at += std::max<std::size_t>(length, 1);
  }
  return shown;
}

[[noreturn]] void fail_out() {
  const std::string reason = errno == 0 ? "" : ": " + std::generic_category().message(errno);
  throw Error("cannot write to stdout" + reason);
}

}  // namespace

std::string printable(std::string_view text) { return without_controls(text, "\n\t"); }

std::string printable_line(std::string_view text) { return without_controls(text, ""); }

std::size_t terminal_columns(int fd) {
  if (isatty(fd) == 0) return 0;
  std::size_t columns = 0;
  if (const char* asked = std::getenv("COLUMNS")) {
    const std::string_view digits = asked;
    std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  }
  winsize size{};
  if (columns == 0 && ioctl(fd, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  return columns > 0 ? columns : 80;
}

Terminal stdout_terminal() { return {terminal_columns(STDOUT_FILENO), has_color(STDOUT_FILENO)}; }

void set_color(bool on) {
  setenv(on ? "CLICOLOR_FORCE" : "NO_COLOR", "1", 1);
  unsetenv(on ? "NO_COLOR" : "CLICOLOR_FORCE");
}

std::string styled(std::string_view text, Style style) {
  if (style == Style::plain) return std::string(text);
  return fmt::format("{}{}{}", kStyles.at(static_cast<std::size_t>(style)), text, kPlain);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

std::vector<std::string> folded(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (width_of(text) > columns) {
    std::size_t end = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      do ++end;
      while (continues_character(text[end]));
    }
    std::size_t space = text.rfind(' ', end);
    // "71 %" stays together.
    if (space != std::string_view::npos && text.substr(space).starts_with(" %")) {
      space = text.substr(0, space).rfind(' ');
    }
    const std::size_t comma = text.substr(0, end).rfind(',');
    if (space != std::string_view::npos && space > 0) {
      end = space;
    } else if (comma != std::string_view::npos) {
      end = comma + 1;
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
  }
  lines.emplace_back(text);
  return lines;
}

std::string folded_text(std::string_view text, const Terminal& terminal) {
  if (terminal.columns == 0) return std::string(text) + '\n';
  std::string out;
  // The first line, too, leaves the room that the others have indented.
  for (const std::string& line : folded(text, std::max<std::size_t>(terminal.columns, 22) - 2)) {
    out += (out.empty() ? "" : "  ") + line + '\n';
  }
  return out;
}

void write_out(std::string_view text) {
  const std::string shown =
      without_controls(text, "\n\t", has_color(STDOUT_FILENO) ? Colors::kept : Colors::replaced);
  const bool written = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size();
  if (!written || std::fflush(stdout) != 0) fail_out();
}

void check_out() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) fail_out();
}

void write_err(std::string_view text) {
  std::string shown = printable(text);
  if (has_color(STDERR_FILENO)) {
    for (const auto& [word, style] :
         {std::pair<std::string_view, Style>("warning:", Style::warning),
          {"assay:", Style::failure}}) {
      for (std::size_t at = 0; at < shown.size();) {
        if (std::string_view(shown).substr(at).starts_with(word)) {
          shown.replace(at, word.size(), styled(word, style));
        }
        at = std::min(shown.find('\n', at), shown.size() - 1) + 1;
      }
    }
  }
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

}  // namespace assay
