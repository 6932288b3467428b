#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "inspect/code.h"

namespace assay {

/// What a name in PTX may hold, and a word of an operand.
constexpr bool is_name(char c) {
  return is_letter(c) || is_digit(c) || c == '$' || c == '%' || c == '.';
}

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// The parts of "ld.global.f32" or "LDG.E.128" between the dots.
std::vector<std::string_view> dotted(std::string_view opcode);

/// Splits at commas that no (), [] or {} encloses, and trims.
std::vector<std::string> split_operands(std::string_view text);

/// An integer, decimal or hexadecimal, with a sign or without; nothing if it is anything else.
std::optional<std::int64_t> integer_of(std::string_view text);

/// "@!P0 BRA `(.L_x_0)": its predicate, opcode and operands.
Instruction read_words(std::string_view text);

/// What instructions keep busy, by the first part of their names.
using KindsByName = std::map<std::string_view, InstructionClass>;
KindsByName kinds_by_name(
    std::initializer_list<std::pair<InstructionClass, std::vector<std::string_view>>> rows);

/// How many bits an access of PTX moves for a thread: 128 of "ld.global.v4.f32"; 0: not known.
int access_bits(std::string_view opcode);

}  // namespace assay
