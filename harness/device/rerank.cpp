#include "device/rerank.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <random>

#include "base/stats.h"
#include "device/energy.h"
#include "device/product_baseline.h"
#include "device/trial.h"

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

// Where outputs, inputs and code lie in memory is luck that a process keeps: entered at several
// places, one 1024^3 product took 12.0 or 12.4 us by the page of its output alone (H200). So short
// work is entered at many places, which take turns: 32 up to 50 us, 9 at 180 us, one from 0.8 ms
// on.
constexpr double kPlacesTimesNs = 1.6e6;
constexpr int kMostPlaces = 32;
// Between two places, so that they do not follow each other in memory.
constexpr std::size_t kLargestGapBytes = std::size_t{32} << 20;

constexpr int kEnergyRounds = 5;
constexpr double kEnergySeconds = 0.25;

/// One of those taken in turn. Its times go to `entry`.
struct Entrant {
  RerankEntry* entry = nullptr;
  std::vector<std::unique_ptr<Trial>> trials;  // one a place; none for a baseline
  std::vector<Work> works;                     // likewise
  bool stays = false;                          // whatever its times: what others are compared with

  bool alive() const { return entry->outcome.status == Status::correct && !entry->eliminated; }
  bool timed() const { return alive() && !entry->samples_ns.empty(); }
  double time_ns() const { return midmean(entry->samples_ns); }
};

/// The candidates, or one baseline's algorithms, which compete among themselves.
using Group = std::vector<Entrant>;

/// A baseline's first choice and its other algorithms that may be its best.
struct BaselineRace {
  std::string name;
  std::vector<int> algorithms{0};
  std::vector<std::unique_ptr<ProductBaseline>> products;  // one a place
  std::vector<RerankEntry> entries;                        // one an algorithm
  Group entrants;                                          // likewise
};

/// cuBLAS's own errors are a baseline's failure here, not the end of the sweep.
Outcome baseline_outcome(Bench& bench, const Work& work) {
  return bench.guarded([&] {
    try {
      work();
      return Outcome{};
    } catch (const CudaError&) {
      throw;
    } catch (const Error& error) {
      throw Failure(Status::runtime, "baseline", error.what());
    }
  });
}

/// The fastest that is still timed; null when none is.
const Entrant* fastest(const Group& group) {
  const Entrant* best = nullptr;
  for (const Entrant& entrant : group) {
    if (entrant.timed() && (!best || entrant.time_ns() < best->time_ns())) best = &entrant;
  }
  return best;
}

/// A race: who takes part and how it is run.
class Race {
 public:
  /// Enters everyone at the first place. The candidates are checked there.
  Race(Bench& bench, const std::vector<TrialRequest>& requests,
       const std::vector<std::string>& baseline_names, RerankResult& result);

  /// Rounds until the spec and the precision are satisfied.
  void run(const RerankSpec& spec);
  void measure_energy();
  /// The last checks, each after many launches.
  void check_candidates();
  /// First choice and best of each baseline.
  std::vector<RerankEntry> baseline_entries() const;

 private:
  void enter_candidate(const TrialRequest& request, Entrant& entrant);
  void enter_baseline(BaselineRace& baseline);
  void enter_more_places();
  std::vector<Entrant*> all();
  void run_round(int round, bool keep);
  void eliminate(Group& group, std::size_t top);
  bool is_precise() const;

  Bench& bench_;
  Preparation preparation_;
  std::vector<TrialRequest> requests_;  // of the candidates
  std::size_t arena_bytes_ = 0;         // that each place needs
  std::vector<DeviceMemory> arenas_;    // of the places but the last
  std::size_t num_places_ = 1;
  Group candidates_;  // the first is the screening's leader, the last its twin
  std::vector<BaselineRace> baselines_;
};

Race::Race(Bench& bench, const std::vector<TrialRequest>& requests,
           const std::vector<std::string>& baseline_names, RerankResult& result)
    : bench_(bench),
      preparation_(preparation_of(requests.front().measure.protocol)),
      requests_(requests) {
  // Every address is fixed before the first trial binds its arguments.
  for (const TrialRequest& request : requests) {
    arena_bytes_ = std::max(arena_bytes_, Trial::arena_bytes(request.plan));
  }
  bench.enter_problem(requests.front().plan.problem);
  bench.release_memory();  // all candidates must fit together, and the sweep kept other shapes
  bench.arena.reserve(arena_bytes_);

  requests_.push_back(requests.front());
  candidates_.resize(requests_.size());
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    Entrant& entrant = candidates_[i];
    entrant.entry = i < requests.size() ? &result.candidates[i] : &result.twin.emplace();
    entrant.entry->name = to_text(requests_[i].plan.config);
    entrant.entry->outcome = bench.guarded([&] {
      enter_candidate(requests_[i], entrant);
      entrant.trials.front()->check();
      return Outcome{};
    });
  }
  candidates_.front().stays = candidates_.back().stays = true;
  for (const std::string& name : baseline_names) {
    BaselineRace& baseline = baselines_.emplace_back();
    baseline.name = name;
    const Outcome outcome = baseline_outcome(bench, [&] { enter_baseline(baseline); });
    baseline.entries.resize(baseline.algorithms.size());
    for (std::size_t i = 0; i < baseline.entries.size(); ++i) {
      baseline.entries[i].outcome = outcome;
      if (i >= baseline.entrants.size()) baseline.entrants.emplace_back();
      baseline.entrants[i].entry = &baseline.entries[i];
    }
    baseline.entrants.front().stays = true;
  }
}

/// Loads the code once more and binds it to the memory at hand.
void Race::enter_candidate(const TrialRequest& request, Entrant& entrant) {
  entrant.trials.push_back(std::make_unique<Trial>(bench_, request));
  const Trial* trial = entrant.trials.back().get();
  entrant.works.push_back([trial] { trial->enqueue(); });
  entrant.works.back()();  // loads what is loaded lazily
  bench_.synchronise();
}

void Race::enter_baseline(BaselineRace& baseline) {
  baseline.products.push_back(std::make_unique<ProductBaseline>(bench_, requests_.front()));
  ProductBaseline& product = *baseline.products.back();
  if (baseline.entrants.empty()) {
    for (const int algorithm : product.best_algorithms(bench_)) {
      if (algorithm != 0) baseline.algorithms.push_back(algorithm);
    }
    baseline.entrants.resize(baseline.algorithms.size());
  }
  for (std::size_t i = 0; i < baseline.algorithms.size(); ++i) {
    baseline.entrants[i].works.push_back(
        [&product, algorithm = baseline.algorithms[i]] { product.enqueue(algorithm); });
    baseline.entrants[i].works.back()();
  }
  bench_.synchronise();
}

/// Enters everyone at as many places as the leader's time asks for and memory has room for.
void Race::enter_more_places() {
  const Entrant& leader = candidates_.front();
  if (!leader.alive()) return;
  const double time_ns = bench_.timer.quick_median_ns(leader.works.front(), 3);
  std::size_t free_bytes = 0, total_bytes = 0;
  bench_.driver.check(bench_.driver.cuMemGetInfo(&free_bytes, &total_bytes), "cuMemGetInfo");
  // Inputs and a workspace beside the outputs; a quarter of the memory is enough for all.
  const auto place_bytes = static_cast<double>(
      arena_bytes_ + static_cast<std::size_t>(requests_.front().plan.bytes) + kLargestGapBytes);
  const double fitting = static_cast<double>(free_bytes) / 4 / place_bytes;
  const auto places = static_cast<std::size_t>(std::clamp(
      std::min(kPlacesTimesNs / time_ns, fitting), 1.0, static_cast<double>(kMostPlaces)));
  std::mt19937 random(1);
  std::vector<DeviceMemory> gaps;
  for (; num_places_ < places; ++num_places_) {
    const Outcome room = bench_.guarded([&] {
      gaps.push_back(allocate(bench_.driver, random() % kLargestGapBytes + 1));
      arenas_.push_back(bench_.arena.take());
      bench_.arena.reserve(arena_bytes_);
      return Outcome{};
    });
    if (room.status != Status::correct) return;  // the places so far must do
    bench_.inputs.clear();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      Entrant& entrant = candidates_[i];
      if (!entrant.alive() || bench_.context_lost) continue;
      entrant.entry->outcome = bench_.guarded([&] {
        enter_candidate(requests_[i], entrant);
        return Outcome{};
      });
    }
    for (BaselineRace& baseline : baselines_) {
      if (!baseline.entrants.front().alive() || bench_.context_lost) continue;
      const Outcome outcome = baseline_outcome(bench_, [&] { enter_baseline(baseline); });
      for (RerankEntry& entry : baseline.entries) entry.outcome = outcome;
    }
  }
}

std::vector<Entrant*> Race::all() {
  std::vector<Entrant*> entrants;
  for (Entrant& entrant : candidates_) entrants.push_back(&entrant);
  for (BaselineRace& baseline : baselines_) {
    for (Entrant& entrant : baseline.entrants) entrants.push_back(&entrant);
  }
  return entrants;
}

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
  const std::vector<Entrant*> entrants = all();
  for (const std::size_t i : order_of_round(round, entrants.size())) {
    Entrant& entrant = *entrants[i];
    if (!entrant.alive() || bench_.context_lost) continue;
    entrant.entry->outcome = baseline_outcome(bench_, [&] {
      // Two rounds at each place, one in each order.
      const Work& work = entrant.works[static_cast<std::size_t>(round / 2) % num_places_];
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
               &entrant != &candidates_.back();
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
  const Entrant& leader = candidates_.front();
  const Entrant& twin = candidates_.back();
  if (leader.timed() && twin.timed() && !is_narrow(twin, leader)) return false;
  const Entrant* best = fastest(candidates_);
  return std::all_of(baselines_.begin(), baselines_.end(), [&](const BaselineRace& baseline) {
    const Entrant* other = fastest(baseline.entrants);
    return !best || !other || is_narrow(*best, *other);
  });
}

void Race::run(const RerankSpec& spec) {
  enter_more_places();
  const Entrant& leader = candidates_.front();
  if (leader.alive() && !bench_.context_lost) {
    // What fails here fails again in the rounds.
    leader.entry->outcome =
        baseline_outcome(bench_, [&] { bench_.timer.settle(leader.works.front(), preparation_); });
  }
  run_round(0, false);  // thrown away, as the first of a trial is
  const auto begin = std::chrono::steady_clock::now();
  // Every place has its turns before anything is decided.
  double next_look =
      std::max(static_cast<double>(spec.rounds), 2.0 * static_cast<double>(num_places_));
  for (int round = 1; round <= kMostRounds && !bench_.context_lost; ++round) {
    run_round(round - 1, true);
    if (round % kEliminationRounds == 0 && round <= kEliminations * kEliminationRounds) {
      const bool last = round == kEliminations * kEliminationRounds;
      eliminate(candidates_, last ? static_cast<std::size_t>(spec.top) : candidates_.size());
      for (BaselineRace& baseline : baselines_) {
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
  const std::vector<Entrant*> entrants = all();
  std::vector<std::vector<double>> joules(entrants.size());
  for (int round = 0; round < kEnergyRounds; ++round) {
    for (const std::size_t i : order_of_round(round, entrants.size())) {
      const Entrant& entrant = *entrants[i];
      if (!entrant.timed() || bench_.context_lost) continue;
      entrant.entry->outcome = baseline_outcome(bench_, [&] {
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
  const Entrant* best = fastest(candidates_);
  for (std::size_t i = 0; i + 1 < candidates_.size(); ++i) {  // the twin is checked as the leader
    Entrant& entrant = candidates_[i];
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

std::vector<RerankEntry> Race::baseline_entries() const {
  std::vector<RerankEntry> entries;
  for (const BaselineRace& baseline : baselines_) {
    const Entrant* best = fastest(baseline.entrants);
    const RerankEntry& first = baseline.entries.front();
    for (const auto& [suffix, entry] :
         {std::pair{"_first", &first}, std::pair{"_best", best ? best->entry : &first}}) {
      entries.push_back(*entry);
      entries.back().name = baseline.name + suffix;
    }
  }
  return entries;
}

}  // namespace

RerankResult rerank_in_turn(Bench& bench, const std::vector<TrialRequest>& candidates,
                            const std::vector<std::string>& baselines, const RerankSpec& spec) {
  for (const std::string& name : baselines) require_baseline(name);
  RerankResult result;
  result.candidates.resize(candidates.size());
  if (candidates.empty()) return result;
  Race race(bench, candidates, baselines, result);
  race.run(spec);
  if (spec.objective != Objective::time) race.measure_energy();
  race.check_candidates();
  result.baselines = race.baseline_entries();
  return result;
}

}  // namespace assay
