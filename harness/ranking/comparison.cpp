// How two runs are told apart.
//
// A run's level is the midmean of the logarithms of its samples. Samples of one run are not
// independent: clocks drift, and neighbours come and go. So the error of the level comes from the
// spread of some blocks of consecutive rounds, not from the single samples.
//
// Two runs of the same machine code differ by more than these errors tell: by where memory lies, by
// which GPU of a model it is, by what else the machine does. How much is measured wherever both
// runs have the same machine code. The variance of a difference is the sum of all three.

#include "ranking/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace assay {
namespace {

// A block of four has a midmean that one late sample does not move. With more blocks than these the
// error is hardly known better, and drifts and neighbours that outlast a block count for less.
constexpr std::size_t kRoundsPerBlock = 4;
constexpr std::size_t kMostBlocks = 16;

// Ratios to a baseline have a standard deviation of 1 % between GPUs of one model with half a day
// between them. Times alone differ by 1.5 % between those, with their clocks.
constexpr double kDefaultNoise = 0.005;
constexpr double kDefaultTimeNoise = 0.01;
// The largest difference of a few dozen A/A pairs is not the largest that there is.
constexpr double kBeyondLargest = 1.5;
// Below this many problems with an A/A pair their spread says too little.
constexpr std::size_t kFewestPairs = 5;
// What a median absolute deviation is of a standard deviation, and how many of the degrees of
// freedom it keeps.
constexpr double kMadRatio = 0.6745;
constexpr double kMadEfficiency = 0.37;

constexpr double kSameLevel = 0.05;  // chance of calling the same what is not

/// A difference of levels in one view.
struct Shift {
  double log_ratio = 0;
  double error = 0;  // standard error, with the noise between runs
  double dof = 0;

  double p_above(double bound) const { return t_tail((log_ratio - bound) / error, dof); }
  double p_below(double bound) const { return t_tail((bound - log_ratio) / error, dof); }
  Interval ratio() const {
    const double half = t_of_95_percent(dof) * error;
    return {std::exp(log_ratio), std::exp(log_ratio - half), std::exp(log_ratio + half)};
  }
};

using LogsOf = std::vector<double> (*)(const Rounds&);

struct Noise {
  double deviation = 0;
  double dof = HUGE_VAL;
};

std::optional<Shift> shift_of(const Contest& contest, LogsOf logs_of, const Noise& noise) {
  const auto before = level_of(logs_of(contest.before));
  const auto after = level_of(logs_of(contest.after));
  if (!before || !after) return std::nullopt;
  const double between = noise.deviation * noise.deviation;
  const double variance = before->variance + after->variance + between;
  // Welch and Satterthwaite's.
  const double dof =
      variance * variance /
      (before->variance * before->variance / before->dof +
       after->variance * after->variance / after->dof + between * between / noise.dof);
  return Shift{after->log_value - before->log_value, std::sqrt(variance), dof};
}

double median_clock(const Rounds& rounds) {
  return rounds.clocks_mhz.empty() ? 0 : median(rounds.clocks_mhz);
}

/// Median clock after / before; 0 if either is not known.
double clock_ratio(const Contest& contest) {
  const double before_mhz = median_clock(contest.before);
  const double after_mhz = median_clock(contest.after);
  return before_mhz > 0 && after_mhz > 0 ? after_mhz / before_mhz : 0;
}

/// Whether times alone may be compared.
bool are_clocks_alike(const Contest& contest) {
  const double ratio = clock_ratio(contest);
  return contest.same_gpu && (ratio == 0 || std::abs(std::log(ratio)) <= kSameClockRatio);
}

/// The spread of A/A pairs about 0, not about their middle: what moves all of them is noise, too.
struct PairSpread {
  Noise noise;
  double largest = 0;
  int num_pairs = 0;
};

/// Which pairs are taken. Times of pairs whose clocks differ tell of the clocks only.
enum class Clocks { alike, any };

PairSpread spread_of(std::span<const Contest> contests, std::span<const Contest> other_pairs,
                     LogsOf logs_of, Clocks clocks, double default_noise) {
  std::vector<double> sizes;
  std::vector<double> errors;  // of the levels, which explain a part of it
  for (const auto& list : {contests, other_pairs}) {
    for (const Contest& contest : list) {
      if (!contest.identical) continue;
      if (clocks == Clocks::alike && !are_clocks_alike(contest)) continue;
      if (const auto shift = shift_of(contest, logs_of, {})) {
        sizes.push_back(std::abs(shift->log_ratio));
        errors.push_back(shift->error);
      }
    }
  }
  if (sizes.size() < kFewestPairs) return {{default_noise, HUGE_VAL}, 0, 0};
  const double spread = median(sizes) / kMadRatio;
  const double error = median(errors);
  return {{std::sqrt(std::max(kLeastNoise * kLeastNoise, spread * spread - error * error)),
           std::max(1.0, kMadEfficiency * static_cast<double>(sizes.size()))},
          *std::ranges::max_element(sizes),
          static_cast<int>(sizes.size())};
}

std::string percent(double log_ratio) {
  return fmt::format("{:+.1f} %", (std::exp(log_ratio) - 1) * 100);
}

/// A contest while it is judged.
struct Open {
  std::optional<Shift> time, cycles, yardstick;
  const Shift* deciding = nullptr;
  std::array<const Shift*, 2> same_direction = {};  // views that must not contradict it, or null
  double margin = 0;                                // as logarithms
  double p_slower = 1;                              // of all views that count together
  double p_faster = 1;

  double p() const { return std::min(1.0, 2 * std::min(p_slower, p_faster)); }
};

struct Noises {
  PairSpread time, cycles;
  PairSpread yardstick;        // where clocks are alike
  PairSpread yardstick_apart;  // where they differ
};

void open_contest(const Contest& contest, const Noises& noises, double margin_ratio, Open& open,
                  Judgement& judgement) {
  open.time = shift_of(contest, log_times, noises.time.noise);
  open.cycles = shift_of(contest, log_cycles, noises.cycles.noise);
  const bool alike = are_clocks_alike(contest);
  const PairSpread& spread = alike ? noises.yardstick : noises.yardstick_apart;
  open.yardstick = shift_of(contest, log_yardsticks, spread.noise);
  judgement.margin_ratio = std::max(margin_ratio, contest.noise_ratio);
  // Without a yardstick nothing tells a busy neighbour from a change. The A/A pairs had some, too.
  if (!open.yardstick) {
    const double largest = std::max(noises.time.largest, noises.cycles.largest);
    judgement.margin_ratio = std::max(judgement.margin_ratio, std::expm1(kBeyondLargest * largest));
  }
  open.margin = std::log1p(judgement.margin_ratio);
  if (!open.time) {
    judgement.reason =
        fmt::format("{} and {} rounds; {} are needed", contest.before.times_ns.size(),
                    contest.after.times_ns.size(), kFewestRounds);
    judgement.may_be_slower = true;
    return;
  }
  judgement.clock_ratio = clock_ratio(contest);
  if (open.yardstick) {
    open.deciding = &*open.yardstick;
    open.p_slower = open.deciding->p_above(open.margin);
    open.p_faster = open.deciding->p_below(-open.margin);
    if (alike) open.same_direction = {&*open.time, open.cycles ? &*open.cycles : nullptr};
  } else {
    // A claim in which both have to agree is as likely to be false as the weaker one.
    open.deciding = &*open.time;
    const Shift& cycles = open.cycles ? *open.cycles : *open.time;
    open.p_slower = std::max(open.time->p_above(open.margin), cycles.p_above(open.margin));
    open.p_faster = std::max(open.time->p_below(-open.margin), cycles.p_below(-open.margin));
  }
  judgement.ratio = open.deciding->ratio();
  judgement.ratios.time = open.time->ratio();
  if (open.cycles) judgement.ratios.cycles = open.cycles->ratio();
  if (open.yardstick) judgement.ratios.yardstick = open.yardstick->ratio();
}

/// What speaks against believing the yardstick, because it is the baseline that has changed. At one
/// clock, time and cycles show no more than half of a difference that the yardstick shows. Between
/// clocks, the yardstick says more than time and cycles both: the time at one clock would lie
/// between these.
bool baseline_moved(const Open& open) {
  if (!open.yardstick || std::abs(open.yardstick->log_ratio) <= open.margin) return false;
  const double sign = open.yardstick->log_ratio > 0 ? 1 : -1;
  for (const Shift* shift : open.same_direction) {
    if (shift && sign * shift->log_ratio < open.margin / 2) return true;
  }
  if (open.same_direction[0] || !open.cycles) return false;
  const auto [low, high] = std::minmax(open.time->log_ratio, open.cycles->log_ratio);
  return open.yardstick->log_ratio > high + open.margin ||
         open.yardstick->log_ratio < low - open.margin;
}

std::string why_unsure(const Open& open) {
  if (baseline_moved(open)) {
    return fmt::format("the baseline itself moved: {} in time, {} against it",
                       percent(open.time->log_ratio), percent(open.yardstick->log_ratio));
  }
  if (!open.yardstick && open.cycles &&
      std::abs(open.time->log_ratio - open.cycles->log_ratio) > open.margin) {
    return fmt::format("the clock changed: {} in time, {} in cycles", percent(open.time->log_ratio),
                       percent(open.cycles->log_ratio));
  }
  return "the interval reaches across the margin";
}

void judge(const Contest& contest, const Open& open, double asked_margin, Judgement& judgement) {
  if (contest.identical) {
    judgement.fate = Fate::same;
    judgement.may_be_slower = false;
    if (open.deciding && std::abs(open.deciding->log_ratio) > open.margin) {
      judgement.reason = "the same machine code: the kernel has not changed";
    }
    return;
  }
  if (!open.deciding) return;
  const bool believed = !baseline_moved(open);
  if (believed && judgement.q <= kFalseDiscoveryRate) {
    judgement.fate = open.p_slower < open.p_faster ? Fate::slower : Fate::faster;
    judgement.may_be_slower = judgement.fate == Fate::slower;
    return;
  }
  const bool below = open.deciding->p_below(asked_margin) <= kSameLevel;
  const bool above = open.deciding->p_above(-asked_margin) <= kSameLevel;
  judgement.may_be_slower = !below || !believed;
  if (below && above && believed) {
    judgement.fate = Fate::same;
    if (open.deciding != &*open.time && std::abs(open.time->log_ratio) > open.margin) {
      judgement.reason =
          fmt::format("time {} together with the baseline's", percent(open.time->log_ratio));
    }
    return;
  }
  judgement.reason = why_unsure(open);
}

// Beyond, Student's t differs from the normal distribution by less than 1 % of a tail of 1e-6.
constexpr double kNormalDof = 1e5;

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by
/// Lentz's method. It converges in some sqrt(max(a, b)) steps where x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostSteps = 10000;
  const auto away_from_0 = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_0(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMostSteps; ++m) {
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / away_from_0(1 + term * d);
      c = away_from_0(1 + term / c);
      fraction *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return fraction;
}

/// The regularized incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

std::string_view to_text(Fate fate) {
  constexpr std::array<std::string_view, 8> kWords{"slower", "failed", "unsure", "not comparable",
                                                   "gone",   "faster", "same",   "new"};
  return kWords.at(static_cast<std::size_t>(fate));
}

std::optional<Level> level_of(std::span<const double> logs) {
  const std::size_t n = logs.size();
  if (n < kFewestRounds) return std::nullopt;
  if (!std::ranges::all_of(logs, [](double log) { return std::isfinite(log); })) {
    return std::nullopt;
  }
  const std::size_t blocks = std::clamp(n / kRoundsPerBlock, kFewestRounds, kMostBlocks);
  std::vector<double> centres;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t begin = n * i / blocks;
    centres.push_back(midmean(logs.subspan(begin, n * (i + 1) / blocks - begin)));
  }
  double mean = 0;
  for (const double centre : centres) mean += centre / static_cast<double>(blocks);
  double squares = 0;
  for (const double centre : centres) squares += (centre - mean) * (centre - mean);
  const auto dof = static_cast<double>(blocks - 1);
  return Level{midmean(logs), squares / dof / static_cast<double>(blocks), dof};
}

std::vector<double> log_times(const Rounds& rounds) {
  std::vector<double> logs;
  for (const double ns : rounds.times_ns) logs.push_back(std::log(ns));
  return logs;
}

std::vector<double> log_cycles(const Rounds& rounds) {
  std::vector<double> logs = log_times(rounds);
  if (rounds.clocks_mhz.size() != logs.size()) return {};
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!(rounds.clocks_mhz[i] > 0)) return {};
    logs[i] += std::log(rounds.clocks_mhz[i]);
  }
  return logs;
}

std::vector<double> log_yardsticks(const Rounds& rounds) {
  std::vector<double> logs = log_times(rounds);
  if (rounds.yardstick_ns.size() != logs.size()) return {};
  for (std::size_t i = 0; i < logs.size(); ++i) logs[i] -= std::log(rounds.yardstick_ns[i]);
  return logs;
}

SuiteComparison compare_suite(std::span<const Contest> contests,
                              std::span<const Contest> other_pairs, double margin_ratio) {
  Noises noises{spread_of(contests, other_pairs, log_times, Clocks::alike, kDefaultTimeNoise),
                spread_of(contests, other_pairs, log_cycles, Clocks::alike, kDefaultTimeNoise),
                spread_of(contests, other_pairs, log_yardsticks, Clocks::alike, kDefaultNoise),
                spread_of(contests, other_pairs, log_yardsticks, Clocks::any, kDefaultNoise)};
  if (noises.yardstick.num_pairs == 0) noises.yardstick = noises.yardstick_apart;
  SuiteComparison suite;
  suite.judgements.resize(contests.size());
  suite.noise = {noises.time.noise.deviation, noises.cycles.noise.deviation,
                 noises.yardstick_apart.noise.deviation,
                 std::max(noises.time.num_pairs, noises.yardstick_apart.num_pairs)};
  std::vector<Open> open(contests.size());
  std::vector<double> p;
  for (std::size_t i = 0; i < contests.size(); ++i) {
    open_contest(contests[i], noises, margin_ratio, open[i], suite.judgements[i]);
    if (!contests[i].identical && open[i].deciding) p.push_back(open[i].p());
  }
  const std::vector<double> adjusted = adjusted_p(p);
  std::size_t next = 0;
  for (std::size_t i = 0; i < contests.size(); ++i) {
    Judgement& judgement = suite.judgements[i];
    if (!contests[i].identical && open[i].deciding) judgement.q = adjusted[next++];
    judge(contests[i], open[i], std::log1p(margin_ratio), judgement);
  }
  return suite;
}

double t_tail(double t, double dof) {
  if (std::isnan(t)) return 0.5;
  if (dof > kNormalDof) return 0.5 * std::erfc(t / std::numbers::sqrt2);
  const double outside = std::isinf(t) ? 0 : incomplete_beta(dof / 2, 0.5, dof / (dof + t * t));
  return t >= 0 ? outside / 2 : 1 - outside / 2;
}

double t_of_95_percent(double dof) {
  double low = 0;
  double high = 1000;
  for (int i = 0; i < 60; ++i) {
    const double middle = std::midpoint(low, high);
    (t_tail(middle, dof) > 0.025 ? low : high) = middle;
  }
  return high;
}

std::vector<double> adjusted_p(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return p[a] > p[b]; });
  std::vector<double> adjusted(p.size());
  double least = 1;
  const auto n = static_cast<double>(p.size());
  for (std::size_t i = 0; i < order.size(); ++i) {  // largest first
    least = std::min(least, p[order[i]] * (n / (n - static_cast<double>(i))));
    adjusted[order[i]] = least;
  }
  return adjusted;
}

}  // namespace assay
