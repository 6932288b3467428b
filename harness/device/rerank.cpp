#include "device/rerank.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <random>

#include "base/stats.h"
#include "device/energy.h"
#include "device/field.h"

namespace assay {
namespace {

// The last check comes after this many launches back to back, bounded by a time: what a counter, a
// leak or heat changes shows late. The leader is what gets used, so it gets most.
constexpr double kLeaderLaunches = 2000, kLeaderSeconds = 0.5;
constexpr double kOtherLaunches = 300, kOtherSeconds = 0.1;

// After each so many rounds, thrice, what is clearly slower than the fastest leaves, and the third
// time all but the fastest few. Eight rounds are the fewest whose interval survives an outlier.
constexpr int kEliminationRounds = 8;
constexpr int kEliminations = 3;
constexpr double kEliminationMargin = 0.006;  // as between different times in report/ranking.h

// Rounds go on until the interval of the ratios is this narrow to each side, or one of the limits
// is reached. A half-width of 0.2 % lets a ratio spread by about 0.35 % over 15 repetitions.
constexpr double kPrecisionRatio = 0.002;
constexpr int kMostRounds = 1000;
constexpr double kMostSeconds = 10;
// Looking costs a sort of n^2/2 numbers, and every look is a chance to stop on luck.
constexpr double kLookGrowth = 1.5;

constexpr std::size_t kMostAlgorithms = 4;  // of a baseline after the first rounds

constexpr int kEnergyRounds = 5;
constexpr double kEnergySeconds = 0.25;

/// The rounds of a re-rank and what comes after them.
class Race {
 public:
  Race(Bench& bench, Field& field, Preparation preparation)
      : bench_(bench), field_(field), preparation_(preparation) {}

  /// Rounds until the spec and the precision are satisfied.
  void run(const RerankSpec& spec);
  void measure_energy();
  /// The last checks, each after many launches.
  void check_candidates();

 private:
  void run_round(int round, bool keep);
  void eliminate(Group& group, std::size_t top);
  bool is_precise() const;

  Bench& bench_;
  Field& field_;
  Preparation preparation_;
};

/// The entrants' order in a round. Every other round has the one before it backwards; every two
/// rounds it is drawn anew, because the heat and the caches that one leaves behind are the next
/// one's start: with fixed neighbours the second entry of one cubin came out 4 % slower under load.
std::vector<std::size_t> order_of_round(int round, std::size_t num_entrants) {
  std::vector<std::size_t> order(num_entrants);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(static_cast<unsigned>(round / 2));
  std::shuffle(order.begin(), order.end(), random);
  if (round % 2 != 0) std::reverse(order.begin(), order.end());
  return order;
}

/// One sample of each in the order of the round.
void Race::run_round(int round, bool keep) {
  const std::vector<Entrant*> entrants = field_.all();
  for (const std::size_t i : order_of_round(round, entrants.size())) {
    Entrant& entrant = *entrants[i];
    if (!entrant.alive() || bench_.context_lost) continue;
    entrant.entry->outcome = entrant_outcome(bench_, [&] {
      // One place after another, so that the first elimination has seen eight.
      const Work& work = entrant.works[static_cast<std::size_t>(round) % field_.num_places()];
      const Sample sample = bench_.timer.sample(work, preparation_);
      if (preparation_ != Preparation::sustained) Timer::rest(sample.time_ns);
      if (!keep) return;
      entrant.entry->samples_ns.push_back(sample.time_ns);
      entrant.entry->clocks_mhz.push_back(sample.clock_mhz);
    });
  }
}

/// Takes out of the group what is clearly slower than its fastest, and all but the `top` fastest.
void Race::eliminate(Group& group, std::size_t top) {
  const Entrant* best = fastest(group);
  if (!best) return;
  std::vector<Entrant*> rest;
  for (Entrant& entrant : group) {
    if (!entrant.timed() || &entrant == best || entrant.stays) continue;
    const Interval ratio = paired_ratio(entrant.entry->samples_ns, best->entry->samples_ns);
    entrant.entry->eliminated = ratio.low > 1 + kEliminationMargin;
    if (entrant.alive()) rest.push_back(&entrant);
  }
  // Those that stay count among the top, the twin excepted.
  const auto staying = static_cast<std::size_t>(
      std::count_if(group.begin(), group.end(), [&](const Entrant& entrant) {
        return entrant.timed() && (&entrant == best || entrant.stays) &&
               &entrant != &field_.candidates.back();
      }));
  const std::size_t places = top > staying ? top - staying : 0;
  std::sort(rest.begin(), rest.end(),
            [](const Entrant* a, const Entrant* b) { return a->time_ns() < b->time_ns(); });
  for (std::size_t i = places; i < rest.size(); ++i) rest[i]->entry->eliminated = true;
}

/// Whether the ratio of the twins, and of the baseline to the best, are known well enough.
bool Race::is_precise() const {
  const auto is_narrow = [](const Entrant& a, const Entrant& b) {
    const Interval ratio = paired_ratio(a.entry->samples_ns, b.entry->samples_ns);
    return (ratio.high - ratio.low) / 2 <= kPrecisionRatio;
  };
  const Entrant& leader = field_.candidates.front();
  const Entrant& twin = field_.candidates.back();
  if (leader.timed() && twin.timed() && !is_narrow(twin, leader)) return false;
  const Entrant* best = fastest(field_.candidates);
  return std::all_of(field_.baselines.begin(), field_.baselines.end(),
                     [&](const BaselineGroup& baseline) {
                       const Entrant* other = fastest(baseline.entrants);
                       return !best || !other || is_narrow(*best, *other);
                     });
}

void Race::run(const RerankSpec& spec) {
  const Entrant& leader = field_.candidates.front();
  if (leader.alive() && !bench_.context_lost) {
    // What fails here fails again in the rounds.
    leader.entry->outcome =
        entrant_outcome(bench_, [&] { bench_.timer.settle(leader.works.front(), preparation_); });
  }
  run_round(0, false);  // thrown away, as the first of a trial is
  const auto begin = std::chrono::steady_clock::now();
  // Every place has its turns before anything is decided.
  double next_look =
      std::max(static_cast<double>(spec.rounds), 2.0 * static_cast<double>(field_.num_places()));
  for (int round = 1; round <= kMostRounds && !bench_.context_lost; ++round) {
    run_round(round - 1, true);
    if (round % kEliminationRounds == 0 && round <= kEliminations * kEliminationRounds) {
      const bool last = round == kEliminations * kEliminationRounds;
      eliminate(field_.candidates,
                last ? static_cast<std::size_t>(spec.top) : field_.candidates.size());
      for (BaselineGroup& baseline : field_.baselines) {
        eliminate(baseline.entrants, last ? kMostAlgorithms : baseline.entrants.size());
      }
    }
    if (round < next_look) continue;
    next_look *= kLookGrowth;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (elapsed.count() > kMostSeconds || is_precise()) return;
  }
}

void Race::measure_energy() {
  if (!bench_.nvml) return;
  const std::vector<Entrant*> entrants = field_.all();
  std::vector<std::vector<double>> joules(entrants.size());
  for (int round = 0; round < kEnergyRounds; ++round) {
    for (const std::size_t i : order_of_round(round, entrants.size())) {
      const Entrant& entrant = *entrants[i];
      if (!entrant.timed() || bench_.context_lost) continue;
      entrant.entry->outcome = entrant_outcome(bench_, [&] {
        const auto energy_j = joules_per_launch(bench_.driver, bench_.stream, *bench_.nvml,
                                                entrant.works.front(), kEnergySeconds);
        if (energy_j) joules[i].push_back(*energy_j);
      });
    }
  }
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (!joules[i].empty()) entrants[i]->entry->energy_j = median(joules[i]);
  }
}

void run_many(Bench& bench, const Entrant& entrant, bool leader) {
  const double time_s = entrant.time_ns() * 1e-9;
  const double limit = leader ? kLeaderSeconds : kOtherSeconds;
  const double launches =
      std::min(leader ? kLeaderLaunches : kOtherLaunches, std::max(1.0, limit / time_s));
  for (int i = 0; i < static_cast<int>(launches); ++i) entrant.trials.front()->enqueue();
  bench.synchronise();
}

void Race::check_candidates() {
  const Entrant* best = fastest(field_.candidates);
  for (std::size_t i = 0; i + 1 < field_.candidates.size();
       ++i) {  // the twin is checked as the leader
    Entrant& entrant = field_.candidates[i];
    if (!entrant.timed()) continue;
    if (bench_.context_lost) {
      entrant.entry->outcome =
          Failure(Status::runtime, "sticky", "not checked: another candidate lost the context")
              .outcome();
      continue;
    }
    entrant.entry->outcome = bench_.guarded([&] {
      run_many(bench_, entrant, &entrant == best);
      Outcome outcome;
      outcome.validation = entrant.trials.front()->check();
      return outcome;
    });
  }
}

}  // namespace

RerankResult rerank_in_turn(Bench& bench, const std::vector<TrialRequest>& candidates,
                            const std::vector<std::string>& baselines, const RerankSpec& spec) {
  for (const std::string& name : baselines) require_baseline(name);
  RerankResult result;
  result.candidates.resize(candidates.size());
  if (candidates.empty()) return result;
  Field field(bench, candidates, baselines, result);
  field.enter_more_places();
  Race race(bench, field, preparation_of(candidates.front().measure.protocol));
  race.run(spec);
  if (spec.objective != Objective::time) race.measure_energy();
  race.check_candidates();
  result.baselines = field.baseline_entries();
  return result;
}

}  // namespace assay
