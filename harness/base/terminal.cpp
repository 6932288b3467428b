#include "base/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

#include "base/error.h"

namespace assay {
namespace {

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Whether the character at the start of `text`, `length` bytes long, is a control character: of
/// ASCII, or U+0080 to U+009F, which some terminals obey, too.
bool is_control(std::string_view text, std::size_t length) {
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return length == 2 && byte(0) == 0xC2 && byte(1) < 0xA0;
}

std::string without_controls(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
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

std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  const std::string_view rest = text.substr(1, length - 1);
  return std::all_of(rest.begin(), rest.end(), continues_character) ? length : 0;
}

std::string printable(std::string_view text) { return without_controls(text, "\n\t"); }

std::string printable_line(std::string_view text) { return without_controls(text, ""); }

void write_out(std::string_view text) {
  const std::string shown = printable(text);
  const bool written = std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size();
  if (!written || std::fflush(stdout) != 0) fail_out();
}

void check_out() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) fail_out();
}

void write_err(std::string_view text) {
  const std::string shown = printable(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

}  // namespace assay
