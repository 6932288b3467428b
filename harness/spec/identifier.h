#pragma once

#include <string_view>

namespace assay {

/// Letters, digits and underscores, not starting with a digit.
bool is_identifier(std::string_view text);

/// A keyword of C++ or a function of expressions: no name of a contract may be one.
bool is_reserved(std::string_view text);

}  // namespace assay
