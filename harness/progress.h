#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

namespace assay {

/// The sweep's progress on stderr: one line that is rewritten on a terminal, a plain line every few
/// seconds elsewhere.
class Progress {
 public:
  enum class Mode { terminal, plain, silent };

  /// `provenance` is shown after every time. It is empty for a live device.
  Progress(Mode mode, std::string provenance);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// terminal when stderr is one, else plain.
  static Mode detect();

  /// Sets how many trials the sweep has, and how many of them are stored already.
  void begin(std::size_t total);

  /// Starts a problem, and forgets the best of the one before.
  void start_problem(const std::string& kernel_or_op, const std::string& problem,
                     std::optional<double> baseline_ns);

  /// Counts one more trial as settled. `kept` means that it was stored before.
  void count(bool kept, bool correct, std::optional<double> time_ns);

  /// What happens now ("re-ranking 8 configurations"); shown until the next trial.
  void stage(const std::string& text);

  /// A line of its own (a warning, the end of a problem).
  void note(const std::string& text);

  /// Clears the rewritten line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(bool now);
  std::string line() const;

  Mode mode_;
  std::string provenance_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_{};
  bool line_shown_ = false;
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t kept_ = 0;
  std::size_t failed_ = 0;
  std::string problem_;
  std::string stage_;
  std::optional<double> baseline_ns_;
  std::optional<double> best_ns_;
};

}  // namespace assay
