#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "store/store.h"

namespace assay {

/// "correct", "compile/error": the status, and what kind of it.
std::string status_text(Status status, const std::string& kind);

/// The first line of a message that says something, cut to `columns` without splitting a character.
std::string first_line(const std::string& message, std::size_t columns);

/// One trial in full: configuration, what the compiler said, status and message, the check's
/// figures, the times and a histogram of the samples.
std::string trial_text(const TrialRow& row, std::int64_t memory_bytes = 0,
                       const Terminal& terminal = {});
/// "1.5 MiB", "97.3 %", "1234567", "12 us"
std::string measurement_text(const Measurement& measurement);
std::string trial_json(const TrialRow& row, std::int64_t memory_bytes = 0);

/// How many trials ended in which way: a line for each kernel, problem, device, status and kind.
std::string counts_text(const std::vector<TrialRow>& rows, const Terminal& terminal = {});
std::string counts_json(const std::vector<TrialRow>& rows);

/// The rows that failed; those that were timed, fastest first within a problem.
std::vector<TrialRow> failed_trials(std::vector<TrialRow> rows);
std::vector<TrialRow> timed_trials(std::vector<TrialRow> rows);

/// What timed_trials() leaves, at most `limit` (0: all). Says how many are left out.
std::string times_text(const std::vector<TrialRow>& timed, std::size_t limit,
                       const Terminal& terminal = {});
/// What failed_trials() leaves, with the first line of the reason, likewise.
std::string failures_text(const std::vector<TrialRow>& failed, std::size_t limit,
                          const Terminal& terminal = {});
/// {"trials": [...], "num_left_out": n}: `rows` in their order.
std::string trials_json(const std::vector<TrialRow>& rows, std::size_t limit);

/// Each question that the results answer: how the search came to its best time, and the times of
/// those that were re-ranked, with their spread. Both are drawn on a terminal.
std::string problem_text(const Results& results, const Terminal& terminal = {});
/// The same: {"problems": [{"op", ..., "screening": {...}, "reranks": [...]}]}.
std::string problem_view_json(const Results& results);

}  // namespace assay
