#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// The one of `known` nearest in spelling to `word` (case counts for little), or empty when none
/// is near enough to be what was meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// `; did you mean "X"?`, or `; known are A, B` when nothing is near, or empty when nothing is
/// known: the end of an "unknown name" message.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace assay
