#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/trial.h"

namespace assay {

/// How far a sweep is. A configuration is compiled first, and settled when it has run.
struct SweepPace {
  std::size_t total = 0;    // configurations
  std::size_t settled = 0;  // by this run or before
  std::size_t reused = 0;   // settled before
  std::size_t ahead = 0;    // compiled and not settled

  /// How long the rest takes after `elapsed_s` seconds: at the pace of what has settled, or before
  /// that at the pace of the compiler. Nothing before anything is compiled.
  std::optional<double> left_s(double elapsed_s) const;
};

/// Where the progress of one or several GPUs is shown, on stderr: lines that are rewritten on a
/// terminal, plain lines every few seconds elsewhere. Threads may share it.
class ProgressScreen {
 public:
  enum class Mode { terminal, plain, silent };

  explicit ProgressScreen(Mode mode) : mode_(mode) {}
  ~ProgressScreen() { finish(); }
  ProgressScreen(const ProgressScreen&) = delete;
  ProgressScreen& operator=(const ProgressScreen&) = delete;

  /// terminal when stderr is one, else plain.
  static Mode detect();

  /// Adds a line; `label` stands ahead of it. Returns its number.
  std::size_t add_line(std::string label);

  /// Sets how many trials there are, stored ones included.
  void begin(std::size_t total);
  /// Sets how many configurations of a line are compiled and not settled.
  void set_ahead(std::size_t line, std::size_t ahead);
  /// Counts one more trial of a line as settled. `kept` means that it was stored before.
  void count(std::size_t line, bool kept, bool failed);
  /// Shows `text` in a line; `now`: on a terminal, even if it was drawn a moment ago.
  void show(std::size_t line, std::string text, bool now);
  /// Ends a line. When it is the last, nothing of the progress is left on the terminal.
  void end(std::size_t line);
  /// Clears the rewritten lines.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Line {
    std::string label;
    std::string text = {};
    std::size_t ahead = 0;  // configurations that are compiled and not settled
    bool ended = false;
    Clock::time_point drawn = {};
  };

  std::string counts() const;
  void redraw();
  void clear();

  std::mutex mutex_;
  const Mode mode_;
  Clock::time_point started_ = Clock::now();
  std::vector<Line> lines_;
  std::size_t num_shown_ = 0;  // lines on the terminal now
  SweepPace pace_;
  std::size_t failed_ = 0;
  /// When the sweep ends, as it looked when the last configuration was compiled or settled: from
  /// then on the time that is left falls.
  std::optional<Clock::time_point> ends_;

  void estimate();
};

/// The progress of a sweep on one GPU.
class Progress {
 public:
  using Mode = ProgressScreen::Mode;

  explicit Progress(Mode mode) : Progress(std::make_shared<ProgressScreen>(mode), "") {}
  /// A line of its own on a screen that several share.
  Progress(std::shared_ptr<ProgressScreen> screen, std::string label);

  /// Sets how many trials the sweep has, stored ones included.
  void begin(std::size_t total) { screen_->begin(total); }

  /// Starts a problem, and forgets the best of the one before.
  void start_problem(const std::string& kernel_or_op, const std::string& problem,
                     std::optional<double> baseline_ns);

  /// Sets how many configurations are compiled and not settled.
  void set_ahead(std::size_t ahead) { screen_->set_ahead(line_, ahead); }

  /// Counts one more trial as settled. `kept` means that it was stored before.
  void count(bool kept, bool failed, std::optional<double> time_ns);

  /// What happens now ("re-ranking 8 configurations"); shown until the next trial.
  void stage(const std::string& text);

  /// Ends this line.
  void finish() { screen_->end(line_); }

 private:
  void show(bool now);

  std::shared_ptr<ProgressScreen> screen_;
  std::size_t line_;
  std::string problem_;
  std::string stage_;
  std::optional<double> baseline_ns_;
  std::optional<double> best_ns_;
};

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
