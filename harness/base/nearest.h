#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The one of `known` that is nearest to `word` in spelling; a difference in case counts for
/// little. Empty when none is near enough to be what was meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// The end of a message about an unknown name: `; did you mean "X"?`, or `; known are A, B` when
/// nothing is near. Empty when nothing is known.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace assay
