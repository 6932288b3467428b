#pragma once

#include <string>

#include "base/terminal.h"
#include "store/store.h"

namespace assay {

/// Each question that the results answer: how the search came to its best time, and the times of
/// those that were re-ranked, with their spread. Both are drawn on a terminal.
std::string problem_text(const Results& results, const Terminal& terminal = {});
/// The same: {"problems": [{"op", ..., "screening": {...}, "reranks": [...]}]}.
std::string problem_view_json(const Results& results);

}  // namespace assay
