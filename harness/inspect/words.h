#pragma once

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

}  // namespace assay
