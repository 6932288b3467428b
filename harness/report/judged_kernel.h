#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rank.h"
#include "base/terminal.h"
#include "store/store.h"

// What `assay judge` says of a submission, and how kernels stand on a board.

namespace assay {

/// What a submission was timed in turn with: a baseline of the op, or the best kernel that the
/// database knows.
struct Rival {
  std::string kernel;  // empty: a baseline
  std::string name;    // of the baseline, or the text of the configuration
  double time_ns = 0;
  Interval speedup;  // time(rival) / time(submission), paired
};

/// How fast a submission is on a problem.
struct JudgedProblem {
  Problem problem;
  int hidden = 0;  // its number among the hidden problems; 0: it is public
  Config config = {};
  Interval time_ns = {};                      // zeros where nothing was timed
  double roofline_ratio = 0;                  // 0: not known
  std::optional<double> relative_error = {};  // of the whole output, as `Validation` has it
  std::string explanation = {};               // the first sentence of what the time is made of
  std::vector<Rival> rivals = {};
  int rank = 0;  // among the submission and its rivals
};

/// Adds what a verdict says of the kernel of this name and of its rivals. False where the kernel
/// had no part in it.
bool add_times(JudgedProblem& problem, const RankRecord& verdict, const std::string& kernel);

enum class Verdict { correct, wrong, compiled };
std::string_view to_text(Verdict verdict);

struct JudgedKernel {
  std::string submission;  // as the user named it
  std::string op;
  std::string kernel = {};
  std::string device = {};
  std::string nvrtc_version = {};
  std::vector<std::string> inputs = {};  // the names of the op's
  Verdict verdict = Verdict::correct;
  /// Of a wrong one: what is wrong. `failed` is the smallest problem that shows it, if one does.
  std::string status = {};
  std::string kind = {};
  std::string message = {};
  std::optional<JudgedProblem> failed = {};
  std::vector<JudgedProblem> problems = {};
  std::size_t num_configs = 0, num_failed = 0;  // configurations tried, over all problems
  std::vector<VerificationCheck> checks = {};   // of `verify`
  std::string board = {};                       // its name on the board; empty: it is on none
  bool is_known = false;                        // the board has the same machine code
};

std::string judged_text(const JudgedKernel& judged);
nlohmann::ordered_json judged_json(const JudgedKernel& judged);

/// The Traces of flashinfer-bench for a judged kernel, an object in JSON on each line: of a correct
/// one for each public problem, of a wrong one for the problem that shows it. What Assay does not
/// measure, the largest errors of an element, is "NaN". `time` is ISO 8601.
std::string trace_lines(const JudgedKernel& judged, std::string_view time);

/// A kernel's best configuration for a problem, or the op's fastest baseline.
struct StandingRow {
  int rank = 0;        // among the kernels; those that cannot be told from the best share 1
  std::string kernel;  // empty: a baseline
  std::string name;    // the text of the configuration, or the baseline's name
  double time_ns = 0;
  Interval ratio_to_best = {};  // time(this) / time(best), paired; zeros: not timed in turn with it
};

/// Which of all kernels are fast for a problem.
struct Standing {
  Question question;
  std::vector<StandingRow> rows;  // those that were re-ranked, fastest first, then the others
};

/// The standings of all questions that these results answer, in their order.
std::vector<Standing> standings_of(const Results& results);

std::string standings_text(const std::vector<Standing>& standings, const Terminal& terminal);
nlohmann::ordered_json standings_json(const std::vector<Standing>& standings);

}  // namespace assay
