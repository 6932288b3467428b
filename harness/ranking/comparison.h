#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/stats.h"

namespace assay {

/// The least noise of a result from run to run that is believed, as a standard deviation. Ratios to
/// a baseline have one of 0.1 % over 15 processes on one H200.
inline constexpr double kLeastNoise = 0.003;

/// What became of a result from one run to another, worst first. The samples alone say slower,
/// unsure, faster or same.
enum class Fate { slower, failed, unsure, not_comparable, gone, faster, same, added };
/// "slower", "not comparable", "new", ...
std::string_view to_text(Fate fate);

/// The samples of one entry of a re-rank, one per round.
struct Rounds {
  std::vector<double> times_ns;
  std::vector<double> clocks_mhz = {};    // SM clock of each; or none at all
  std::vector<double> yardstick_ns = {};  // of the baseline in the same rounds; or none
};

/// A result in two runs. The yardstick is one that both runs have, else neither has one.
struct Contest {
  Rounds before;
  Rounds after;
  bool identical = false;  // the same machine code: an A/A pair
  bool same_gpu = true;    // not another one of the same model
  double noise_ratio = 0;  // noise floor that the runs measured by themselves, the larger one
};

/// In what two runs are compared.
struct Views {
  std::optional<Interval> time;       // after / before, with its 95 % interval
  std::optional<Interval> cycles;     // time x clock
  std::optional<Interval> yardstick;  // time / baseline's time in the same rounds
};

struct Judgement {
  Fate fate = Fate::unsure;
  Views ratios;
  Interval ratio = {1, 1, 1};  // of the view that decides: the yardstick if there is one, else time
  double margin_ratio = 0;     // least difference that is called one
  double clock_ratio = 0;      // median clock after / before; 0: not known
  double q = 1;                // adjusted p-value of the difference; 1 for an A/A pair
  bool may_be_slower = false;  // whether it is slower, or that cannot be excluded
  std::string reason;          // why it is unsure, or what is odd; or empty
};

/// How much the same machine code differs between the two runs, as standard deviations of log
/// ratios. `num_pairs` is 0 if there were too few, and the figures are then a default.
struct RunNoise {
  double time = 0;
  double cycles = 0;
  double yardstick = 0;
  int num_pairs = 0;
};

struct SuiteComparison {
  std::vector<Judgement> judgements;  // each in its contest's place
  RunNoise noise;
};

/// Fewer rounds than this decide nothing.
inline constexpr std::size_t kFewestRounds = 6;
/// Chance that a suite in which nothing has changed raises any alarm.
inline constexpr double kFalseDiscoveryRate = 0.01;
/// Clocks that differ by more than this make times incomparable.
inline constexpr double kSameClockRatio = 0.005;

/// Judges all results of two runs together.
///
/// A result is slower if it is so by more than the margin, which is `margin_ratio` (0.02 = 2 %) or
/// the runs' own noise floor, whichever is larger. If there is a yardstick, it decides, since it
/// has the same clock and the same neighbours in each round; and time and cycles must not
/// contradict it. If there is none, both time and cycles have to say so, and no A/A pair may differ
/// by nearly as much. Over the suite, the rate of false discoveries is kept at kFalseDiscoveryRate
/// (adjusted_p).
///
/// It is the same if the view that decides excludes, to 95 %, a difference of `margin_ratio` or
/// more either way. An A/A pair is the same whatever was measured.
///
/// `other_pairs` are further A/A pairs, at most one a problem. With those among the contests they
/// tell how much two runs differ by themselves.
SuiteComparison compare_suite(std::span<const Contest> contests,
                              std::span<const Contest> other_pairs, double margin_ratio);

/// The level of a run's samples in one view, with its standard error; for a history.
struct Level {
  double log_value = 0;
  double variance = 0;  // of log_value, by the spread within the run
  double dof = 0;       // of the variance
};
/// Nothing if there are too few rounds, or a sample is no positive number.
std::optional<Level> level_of(std::span<const double> logs);

/// The natural logarithms of what a view looks at; nothing if it is not known.
std::vector<double> log_times(const Rounds& rounds);
std::vector<double> log_cycles(const Rounds& rounds);
std::vector<double> log_yardsticks(const Rounds& rounds);

/// P(T > t) for Student's t with `dof` degrees of freedom; 0.5 at t = 0. Precondition: dof > 0; an
/// infinite dof is the normal distribution.
double t_tail(double t, double dof);

/// t with P(T > t) = 2.5 %: half the width of a 95 % interval, in standard errors.
double t_of_95_percent(double dof);

/// Benjamini and Hochberg's adjusted p-values, each in its p-value's place. Calling a difference
/// where the adjusted value is at most q keeps the expected share of false calls at q or less.
///
/// It is chosen over Holm's because a suite seldom has one change: what slows one problem slows its
/// neighbours, and Holm's correction loses the smallest of them. If nothing has changed, every call
/// is false, and the share is the chance of any false call: so a clean suite raises an alarm with
/// chance q at most, as Holm's would have it. It holds under positive dependence (Benjamini and
/// Yekutieli 2001), which is what a warm machine or a busy neighbour makes of a suite.
std::vector<double> adjusted_p(std::span<const double> p);

}  // namespace assay
