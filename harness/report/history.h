#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "ranking/comparison.h"
#include "ranking/steps.h"
#include "report/run.h"

namespace assay {

/// What one run found for a question, without the samples.
struct HistoryPoint {
  std::string run;                      // name of the run
  RunResult result;                     // of its trials only what an environment is told by
  double time_ns = 0;                   // median of the best
  Interval interval_ns;                 // its 95 % interval
  std::optional<Level> time;            // logarithms
  std::optional<Level> cycles;          // nothing where the clocks are not known
  std::map<std::string, Level> ratios;  // to each baseline that was timed beside it, by name
};

/// A change in a history, with what else changed meanwhile.
struct HistoryChange {
  Step step;                             // its runs are numbers of points
  std::vector<std::string> environment;  // empty: nothing that is known of
};

/// One question over the runs that have a verdict on it, oldest first.
struct ResultHistory {
  std::vector<HistoryPoint> points;  // at least one
  std::string baseline;              // that the steps are relative to; empty: times and cycles
  std::vector<double> levels;        // relative to the first one, of each point
  std::vector<HistoryChange> changes;

  const Question& question() const { return points.front().result; }
};

/// Puts runs together, which may come in any order. A verdict that several runs share, since
/// nothing had to be measured again, counts once.
class HistoryBuilder {
 public:
  void add(Run run);
  /// The histories in the order of op, device, protocol and problem. No change is smaller than
  /// `least_ratio`.
  std::vector<ResultHistory> finish(double least_ratio);

 private:
  std::map<std::string, std::vector<HistoryPoint>> points_;  // by question
};

/// A table of the histories with a small drawing of each, a table of the changes, a summary line.
std::string history_text(const std::vector<ResultHistory>& histories,
                         const Terminal& terminal = {});
nlohmann::ordered_json history_json(const std::vector<ResultHistory>& histories);

}  // namespace assay
