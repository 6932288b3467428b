#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// The parts of "ld.global.f32" or "LDG.E.128" between the dots.
std::vector<std::string_view> dotted(std::string_view opcode);

/// Splits at commas that no (), [] or {} encloses, and trims.
std::vector<std::string> split_operands(std::string_view text);

/// An integer, decimal or hexadecimal, with a sign or without; nothing if it is anything else.
std::optional<std::int64_t> integer_of(std::string_view text);

/// How many bits an access of PTX moves for a thread: 128 of "ld.global.v4.f32"; 0: not known.
int access_bits(std::string_view opcode);

}  // namespace assay
