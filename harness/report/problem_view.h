#pragma once

#include <string>

#include "store/store.h"

namespace assay {

/// Whether there is a terminal to draw on, in Unicode.
enum class Drawing { no, yes };

/// Each question that the results answer: how the search came to its best time, and the times of
/// those that were re-ranked, with their spread.
std::string problem_text(const Results& results, Drawing drawing);
/// The same: {"problems": [{"op", ..., "screening": {...}, "reranks": [...]}]}.
std::string problem_view_json(const Results& results);

}  // namespace assay
