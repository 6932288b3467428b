#include "base/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

#include "base/error.h"
#include "base/utf8.h"

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
