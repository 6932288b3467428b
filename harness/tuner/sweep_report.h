#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/trial_record.h"

namespace assay {

/// What racing saved. Racing stops a configuration early once it is clearly slower than the best.
struct RacingReport {
  std::size_t finished = 0;  // configurations that were not stopped early
  std::size_t finished_samples = 0;
  std::size_t raced = 0;  // configurations that were stopped early
  std::size_t raced_samples = 0;
  double raced_medians_s = 0;  // sum of their medians
  double raced_sampled_s = 0;  // sum of median times samples

  void add(const Timing& timing);
  /// Running time of the samples that were not taken, if the raced configurations would have needed
  /// as many as the others.
  double saved_s() const;
};

/// What the search of one space left. `gain_ratio` is as gain_left() says; nothing if too little
/// was tried to tell.
struct SearchReport {
  std::string kernel;
  std::string problem;
  std::size_t tried = 0;
  std::size_t size = 0;  // of the space
  std::optional<double> gain_ratio;
};

/// What a sweep did, for the summary and the exit code.
struct SweepReport {
  std::size_t total = 0;      // configurations times problems
  std::size_t measured = 0;   // in this run
  std::size_t kept = 0;       // stored by an earlier run, not measured again
  std::size_t taken = 0;      // of the kept, measured by another sweep while this one ran
  std::size_t same_code = 0;  // of the measured, not run: they took over the times of the same code
  std::size_t skipped = 0;    // left out because the budget was used up
  std::map<std::pair<Status, std::string>, std::size_t>
      counts;  // by status and kind, kept included
  std::map<std::pair<Status, std::string>, std::string> examples;  // one reason for each
  std::map<std::string, std::uint64_t> removed;  // points by the constraint that removed them
  double wall_s = 0;
  double screening_s = 0;      // the part of it in compiling, checking and timing
  double device_s = 0;         // in trials, baselines and re-ranks
  double compiler_wait_s = 0;  // the device was idle: nothing was compiled yet
  double compile_s = 0;        // summed over the threads
  RacingReport racing;
  std::size_t carried_over = 0;        // proposed by what the store knew before, see warm_start.h
  std::vector<SearchReport> searches;  // of a budget with `until`
  std::vector<std::string> warnings;

  /// Counts a trial: one stored before when `is_kept`, else one measured now.
  void add(const TrialRecord& record, bool is_kept);
  /// A trial that was counted as correct proved to be wrong.
  void refuse(const TrialRecord& record);
  /// Adds a warning, unless it is there.
  void warn(const std::string& warning);
  template <typename Part, typename... Parts>
  void warn(fmt::format_string<Part, Parts...> format, Part&& part, Parts&&... parts) {
    warn(fmt::format(format, std::forward<Part>(part), std::forward<Parts>(parts)...));
  }

 private:
  void count(const TrialRecord& record);
};

}  // namespace assay
