#pragma once

#include <set>
#include <string>
#include <string_view>

#include "report/run_comparison.h"

namespace assay {

/// Whether a change may pass.
enum class Gate { passed, failed, undecided };
std::string_view to_text(Gate gate);

/// What a user lets pass although it decides nothing: of unsure, gone and not_comparable.
using Allowed = std::set<Fate>;

/// What a result alone would make of the gate. `failed` if it is slower or nothing is correct any
/// more; `undecided` if it may be slower, cannot be compared or is gone, and that is not allowed.
Gate gate_of(const ComparedResult& result, const Allowed& allowed);
/// The worst of all results: failed before undecided before passed.
Gate gate_of(const RunComparison& comparison, const Allowed& allowed);

/// For the summary page of a CI job: what holds the gate up first, then what else is not the same.
/// GitHub shows 1 MiB; this stays below 64 KiB and says how many results it leaves out.
std::string gate_markdown(const RunComparison& comparison, const Allowed& allowed);

/// JUnit's XML: a test case for each result. Undecided ones are errors; allowed ones are skipped.
std::string gate_junit(const RunComparison& comparison, const Allowed& allowed);

/// The JSON of the comparison, with "gate" in front.
std::string gate_json(const RunComparison& comparison, const Allowed& allowed);

}  // namespace assay
