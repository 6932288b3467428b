#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kReserved[] = {
    "alignas",    "alignof",       "and",         "and_eq",    "asm",          "auto",
    "bitand",     "bitor",         "bool",        "break",     "case",         "catch",
    "cdiv",       "char",          "char16_t",    "char32_t",  "char8_t",      "class",
    "co_await",   "co_return",     "co_yield",    "compl",     "concept",      "const",
    "const_cast", "consteval",     "constexpr",   "constinit", "continue",     "decltype",
    "default",    "delete",        "do",          "double",    "dynamic_cast", "else",
    "enum",       "explicit",      "export",      "extern",    "false",        "float",
    "for",        "friend",        "goto",        "if",        "inline",       "int",
    "long",       "max",           "min",         "mutable",   "namespace",    "new",
    "noexcept",   "not",           "not_eq",      "nullptr",   "operator",     "or",
    "or_eq",      "private",       "protected",   "public",    "register",     "reinterpret_cast",
    "requires",   "return",        "short",       "signed",    "sizeof",       "sqrt",
    "static",     "static_assert", "static_cast", "struct",    "switch",       "template",
    "this",       "thread_local",  "throw",       "true",      "try",          "typedef",
    "typeid",     "typename",      "union",       "unsigned",  "using",        "virtual",
    "void",       "volatile",      "wchar_t",     "while",     "xor",          "xor_eq",
};
static_assert(std::ranges::is_sorted(kReserved));

/// Damerau's distance (optimal string alignment) in thirds of a letter: one is inserted, deleted or
/// replaced, or two change places, for 3; the case of one changes for 1.
std::size_t distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  std::vector<std::size_t> before, above, row(b.size() + 1);  // the rows of a's prefixes
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = 3 * j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = 3 * i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const char x = a[i - 1], y = b[j - 1];
      const std::size_t replaced = above[j - 1] + (x == y ? 0 : lower(x) == lower(y) ? 1 : 3);
      row[j] = std::min({replaced, above[j] + 3, row[j - 1] + 3});
      if (i > 1 && j > 1 && x == b[j - 2] && y == a[i - 2])
        row[j] = std::min(row[j], before[j - 2] + 3);
    }
  }
  return row[b.size()];
}

// Longer words are nobody's typing mistake, and the distance costs the product of the lengths.
constexpr std::size_t kLongestWord = 64;

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, is_identifier_part);
}

bool is_reserved(std::string_view text) { return std::ranges::binary_search(kReserved, text); }

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::size_t character_length(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  const std::string_view rest = text.substr(1, length - 1);
  return std::ranges::all_of(rest, continues_character) ? length : 0;
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kLongestWord) return {};
  std::string best;
  // A third of the letters may be wrong: "BLOK" finds "BLOCK", "M" does not find "N".
  std::size_t limit = word.size() + 1;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t d = distance(word, candidate);
    if (d < limit) {
      best = candidate;
      limit = d;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  if (const std::string near = nearest(word, known); !near.empty()) {
    return fmt::format("; did you mean \"{}\"?", near);
  }
  return known.empty() ? "" : fmt::format("; known are {}", fmt::join(known, ", "));
}

}  // namespace assay
