#pragma once

#include <string_view>

namespace assay {

// ASCII alone, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// An underscore counts as a letter.
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Letters, digits and underscores, not starting with a digit.
bool is_identifier(std::string_view text);

/// Whether it is a keyword of C++ or a function of expressions. No name in a contract or in an
/// exported header may be one.
bool is_reserved(std::string_view text);

}  // namespace assay
