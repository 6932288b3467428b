#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace assay {

// ASCII alone, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// An underscore counts as a letter.
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Whether a name may go on with it.
constexpr bool is_identifier_part(char c) { return is_letter(c) || is_digit(c); }

/// The whole text as a number; nothing where it is none. An integer may have another base.
template <class Number, class... Base>
std::optional<Number> number_of(std::string_view text, Base... base) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base...);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

/// Letters, digits and underscores, not starting with a digit.
bool is_identifier(std::string_view text);

/// Whether it is a keyword of C++ or a function of expressions. No name in a contract or in an
/// exported header may be one.
bool is_reserved(std::string_view text);

/// Whether this byte of UTF-8 text goes on with a character that began before it.
bool continues_character(char c);

/// The length of the UTF-8 character that `text`, which is not empty, starts with, or 0 when it
/// starts with none.
std::size_t character_length(std::string_view text);

/// The one of `known` that is nearest to `word` in spelling; a difference in case counts for
/// little. Empty when none is near enough to be what was meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// The end of a message about an unknown name: `; did you mean "X"?`, or `; known are A, B` when
/// nothing is near. Empty when nothing is known.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace assay
