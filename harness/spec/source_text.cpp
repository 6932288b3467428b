#include "spec/source_text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/file.h"
#include "base/text.h"

namespace assay {
namespace {

// A contract has a few kilobytes; more is the wrong file.
constexpr std::size_t kMaxBytes = 1 << 20;

// Longer lines are quoted in part, so that the caret stays on the screen.
constexpr std::size_t kMaxQuoted = 160;
constexpr std::size_t kQuotedBefore = 60;

/// Other control characters have no place in a contract. Also, yaml-cpp takes byte 4 for the end.
bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
}

/// `line` as a terminal can show it, byte for byte as long.
std::string printable(std::string_view line) {
  std::string shown(line);
  for (std::size_t at = 0; at < shown.size();) {
    const std::size_t length = character_length(line.substr(at));
    if (length == 0 || is_control(line[at])) shown[at] = '?';
    at += std::max<std::size_t>(length, 1);
  }
  return shown;
}

std::string describe(const Location& where, const std::string& message) {
  if (!where.source) return message;
  const std::string shown = printable(line_of(*where.source, where.line));
  std::string_view line = shown;
  const std::size_t before = std::min(static_cast<std::size_t>(where.column) - 1, line.size());
  std::string caret;
  for (const char c : line.substr(0, before)) {
    // A tab stays one, so that it is as wide as in the line above.
    if (!continues_character(c)) caret += c == '\t' ? '\t' : ' ';
  }
  std::string head = fmt::format("{}:{}:{}: {}", where.source->path.generic_string(), where.line,
                                 caret.size() + 1, message);
  if (line.empty()) return head;
  if (line.size() > kMaxQuoted) {
    std::size_t begin = before > kQuotedBefore ? before - kQuotedBefore : 0;
    while (begin > 0 && continues_character(line[begin])) --begin;
    std::size_t end = std::min(begin + kMaxQuoted, line.size());
    while (end < line.size() && continues_character(line[end])) ++end;
    const auto cut = std::count_if(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(begin),
                                   [](char c) { return !continues_character(c); });
    caret.erase(0, static_cast<std::size_t>(cut));
    line = line.substr(begin, end - begin);
  }
  return fmt::format("{}\n  {}\n  {}^", head, line, caret);
}

void check_text(const std::shared_ptr<const SourceText>& source) {
  const std::string_view text = source->text;
  Location where{source, 1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) throw SpecError(where, "expected UTF-8 text, found another encoding");
    if (is_control(text[at])) {
      throw SpecError(where, "expected text, found control character 0x{:02x}",
                      static_cast<unsigned>(text[at]));
    }
    where.column += static_cast<int>(length);
    if (text[at] == '\n') where = Location{source, where.line + 1, 1};
    at += length;
  }
}

}  // namespace

std::shared_ptr<const SourceText> load_source(const std::filesystem::path& path) {
  std::error_code missing;  // read_file says so
  if (std::filesystem::is_fifo(path, missing)) {
    throw UsageError(
        "{}: expected a file, found a pipe: it is read more than once, and a kernel's source lies "
        "beside it",
        path.string());
  }
  std::string text = read_file(path, kMaxBytes);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  std::string::size_type kept = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool before_newline = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    if (!before_newline) text[kept++] = text[at];
  }
  text.resize(kept);
  auto source = std::make_shared<const SourceText>(SourceText{path, std::move(text)});
  check_text(source);
  return source;
}

std::string_view line_of(const SourceText& source, int line) {
  std::string_view rest = source.text;
  for (int i = 1; i < line; ++i) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
  return rest.substr(0, rest.find('\n'));
}

Location location_at(const std::shared_ptr<const SourceText>& source, std::size_t offset) {
  const std::string_view before = std::string_view(source->text).substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {source, static_cast<int>(std::ranges::count(before, '\n')) + 1,
          static_cast<int>(offset - line_begin) + 1};
}

SpecError::SpecError(const Location& where, const std::string& message)
    : UsageError(describe(where, message)) {}

}  // namespace assay
