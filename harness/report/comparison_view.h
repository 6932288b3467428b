#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/terminal.h"
#include "report/run_comparison.h"

namespace assay {

/// Which results a table has: all, or those that are not simply the same.
enum class Shown { all, notable };

/// A table for each op, device and protocol, what changed beside, and a summary line.
std::string comparison_text(const RunComparison& comparison, Shown shown,
                            const Terminal& terminal = {});

/// "21 results: 1 slower, 20 same; ...": one line, without its end.
std::string summary_text(const RunComparison& comparison);

/// One JSON document. What is not known is null.
std::string comparison_json(const RunComparison& comparison);
nlohmann::ordered_json comparison_object(const RunComparison& comparison);

/// "1.235 us"; "-" of 0, which stands for no time.
std::string time_text(double ns);
/// "+1.2 %"; "-" if it is not finite.
std::string change_text(double ratio);
/// The change of the view that decides; "-" if there is none.
std::string change_text(const ComparedResult& result);

/// What changed beside the times, each once, with the number of results that it concerns.
std::map<std::string, int> stale_counts(const RunComparison& comparison);

/// "same code, up to 8.1 % slower in 3 of 21 results; what changed: driver 580 -> 581": one line,
/// without its end. Empty if no code that stayed the same got slower.
std::string slower_code_text(const RunComparison& comparison);

/// What is to be said of a result beside its fate, from most to least important.
std::string remarks_text(const ComparedResult& result);

}  // namespace assay
