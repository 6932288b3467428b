#pragma once

#include <string_view>

namespace assay {

/// Letters, digits and underscores, not starting with a digit.
bool is_identifier(std::string_view text);

/// Whether it is a keyword of C++ or a function of expressions. No name in a contract may be one.
bool is_reserved(std::string_view text);

}  // namespace assay
