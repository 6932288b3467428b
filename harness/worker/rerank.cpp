#include "worker/rerank.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "base/elapsed.h"
#include "base/stats.h"
#include "timing/measure.h"
#include "worker/rerank_entries.h"

namespace assay {
namespace {

// The last check comes after so many launches back to back, but after no more than so many seconds.
// What a counter, a leak or heat changes shows late. The leader gets the most launches, because it
// is what will be used.
constexpr double kLeaderLaunches = 2000, kLeaderSeconds = 0.25;
constexpr double kOtherLaunches = 300, kOtherSeconds = 0.05;

// After every so many rounds, four times, and at every look from then on, each entry that is
// clearly slower than the fastest drops out. The fourth time, all but the fastest few drop out. Six
// rounds are the fewest that have an interval: an entry must then be behind in all of them.
constexpr int kEliminationRounds = 6;
constexpr int kEliminations = 4;
// Each round before the first of them is at another allocation. Most entries then drop out, and
// need not be prepared at further ones.
constexpr std::size_t kFirstAllocations = kEliminationRounds;
constexpr double kEliminationMargin = 0.006;  // as kLeastTimeMargin in ranking/ranking.h

// Rounds go on until the interval of the ratios is as narrow as asked to each side, or a limit is
// reached. The interval does not see what differs between allocations, or heat. At 0.2 % and 9
// allocations, a 4096^3 product's ratio to cuBLAS spread by 0.7 % over 15 processes (H200). At 0.08
// % and 32 allocations it spread by 0.4 %. So rests and allocations are in whole for this
// precision, and less for a coarser one.
constexpr double kWholePrecisionRatio = 0.001;
constexpr double kLeastShare = 0.2;
constexpr double kMostSeconds = 2.5;
// Look rarely: a look sorts n^2/2 numbers, and each one is a chance to stop by luck.
constexpr double kLookGrowth = 1.5;
// Two looks later there are more than twice as many rounds. If the interval is not even a tenth
// narrower than ever before, more rounds do not help: an entry has two modes, as where one of
// cuBLASLt's algorithms is 2.5 % slower at some allocations (64x28672x8192 on an H200).
constexpr double kLeastImprovement = 0.9;

constexpr std::size_t kLastAlgorithms = 4;  // of a baseline, that are timed at full length

constexpr int kEnergyRounds = 5;
constexpr double kEnergySeconds = 0.25;

/// The rounds of a re-rank, and what comes after them.
class Race {
 public:
  /// `share` of the whole rests is taken.
  Race(WorkerState& worker, RerankEntries& runnables, Preparation preparation,
       const RerankSpec& spec, double share)
      : worker_(worker),
        entries_(runnables),
        preparation_(preparation),
        spec_(spec),
        share_(share) {}

  /// Runs rounds until the spec and the precision are satisfied, as far as one worker of
  /// `num_workers` can satisfy them.
  void run(int num_workers);
  void measure_energy();
  void blame_first_for_duplicate();
  /// The last checks: after many launches, on data of other kinds, and with inputs behind fences.
  void check_candidates();

 private:
  void run_round(int round, bool keep);
  void check_each(const std::function<void(RunnableEntry&)>& check);
  void eliminate_all(bool last);
  void eliminate(EntryGroup& group, std::size_t top, double margin_ratio);
  double interval_ratio() const;

  WorkerState& worker_;
  RerankEntries& entries_;
  Preparation preparation_;
  const RerankSpec& spec_;
  double share_;
};

/// The order of the entries in a round. Every two rounds the order is drawn anew, and the second of
/// the two has the first backwards. This matters because each entry starts with the heat and the
/// caches that the one before leaves. With fixed neighbours, an A/A duplicate came out 4 % slower
/// under load.
std::vector<std::size_t> order_of_round(int round, std::size_t num_contenders) {
  std::vector<std::size_t> order(num_contenders);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(static_cast<unsigned>(round / 2));
  std::shuffle(order.begin(), order.end(), random);
  if (round % 2 != 0) std::ranges::reverse(order);
  return order;
}

/// Takes one sample of each entry, in the order of the round.
void Race::run_round(int round, bool keep) {
  const std::vector<RunnableEntry*> runnables = entries_.all();
  for (const std::size_t i : order_of_round(round, runnables.size())) {
    RunnableEntry& runnable = *runnables[i];
    if (!runnable.alive() || worker_.context_lost) continue;
    runnable.entry->outcome = entry_outcome(worker_, [&] {
      // Use one allocation after another, so that the first elimination has seen all there are.
      const TimedWork& work =
          runnable.works[static_cast<std::size_t>(round) % entries_.num_allocations()];
      const Sample sample = worker_.timer.sample(work, preparation_);
      if (preparation_ != Preparation::sustained) Timer::rest(sample.time_ns, share_);
      if (!keep) return;
      runnable.entry->samples_ns.push_back(sample.time_ns);
      runnable.entry->clocks_mhz.push_back(sample.clock_mhz);
    });
  }
}

/// Makes those drop out that are slower than the fastest by more than the margin, or by more than
/// the A/A duplicate is off, if that is more. Where energy decides, a slower one may win. By a
/// metric or several objectives no candidate drops out.
void Race::eliminate_all(bool last) {
  double margin_ratio = spec_.objective == Objective::time
                            ? kEliminationMargin
                            : std::numeric_limits<double>::infinity();
  const RunnableEntry& leader = entries_.candidates.front();
  const RunnableEntry& duplicate = entries_.candidates.back();
  if (leader.timed() && duplicate.timed()) {
    const Interval noise = paired_ratio(duplicate.entry->samples_ns, leader.entry->samples_ns);
    margin_ratio = std::max(margin_ratio, std::abs(noise.value - 1));
  }
  const auto most = [&](const EntryGroup& group, std::size_t top) {
    return last ? top : group.size();
  };
  if (spec_.objective.is_word()) {
    eliminate(entries_.candidates, most(entries_.candidates, static_cast<std::size_t>(spec_.top)),
              margin_ratio);
  }
  for (BaselineGroup& baseline : entries_.baselines) {
    eliminate(baseline.runnables, most(baseline.runnables, kLastAlgorithms), margin_ratio);
  }
}

/// Makes those of the group drop out that are clearly slower than its fastest, then all but the
/// `top` fastest.
void Race::eliminate(EntryGroup& group, std::size_t top, double margin_ratio) {
  const RunnableEntry* best = fastest(group);
  if (!best) return;
  std::vector<RunnableEntry*> others;
  for (RunnableEntry& runnable : group) {
    if (!runnable.timed() || &runnable == best || runnable.stays) continue;
    const Interval ratio = paired_ratio(runnable.entry->samples_ns, best->entry->samples_ns);
    runnable.entry->eliminated = ratio.low > 1 + margin_ratio;
    if (runnable.alive()) others.push_back(&runnable);
  }
  // Entries that must stay count among the `top`, but the A/A duplicate does not.
  const auto staying =
      static_cast<std::size_t>(std::ranges::count_if(group, [&](const RunnableEntry& runnable) {
        return runnable.timed() && (&runnable == best || runnable.stays) &&
               &runnable != &entries_.candidates.back();
      }));
  const std::size_t room = top > staying ? top - staying : 0;
  std::ranges::sort(others, [](const RunnableEntry* a, const RunnableEntry* b) {
    return a->time_ns() < b->time_ns();
  });
  for (std::size_t i = room; i < others.size(); ++i) others[i]->entry->eliminated = true;
}

/// Half the interval of the ratio of the A/A duplicate to its candidate, or of the best to a
/// baseline, whichever is known less well.
double Race::interval_ratio() const {
  double widest = 0;
  const auto look_at = [&](const RunnableEntry& a, const RunnableEntry& b) {
    const Interval ratio = paired_ratio(a.entry->samples_ns, b.entry->samples_ns);
    widest = std::max(widest, (ratio.high - ratio.low) / 2);
  };
  const RunnableEntry& leader = entries_.candidates.front();
  const RunnableEntry& duplicate = entries_.candidates.back();
  if (leader.timed() && duplicate.timed()) look_at(duplicate, leader);
  const RunnableEntry* best = fastest(entries_.candidates);
  for (const BaselineGroup& baseline : entries_.baselines) {
    const RunnableEntry* other = fastest(baseline.runnables);
    if (best && other) look_at(*best, *other);
  }
  return widest;
}

/// Every allocation is used at least twice before anything is decided.
double least_rounds_of(const RerankSpec& spec, const RerankEntries& entries) {
  return std::max(static_cast<double>(spec.rounds),
                  2.0 * static_cast<double>(entries.num_allocations()));
}

void Race::run(int num_workers) {
  const RunnableEntry& leader = entries_.candidates.front();
  if (leader.alive() && !worker_.context_lost) {
    // If this fails, it fails again in the rounds.
    leader.entry->outcome =
        entry_outcome(worker_, [&] { worker_.timer.settle(leader.works.front(), preparation_); });
  }
  run_round(0, false);  // thrown away, as the first sample of a trial is
  const auto begin = std::chrono::steady_clock::now();
  const double precision_ratio = spec_.precision_ratio * std::sqrt(num_workers);
  double least_rounds = least_rounds_of(spec_, entries_);
  double next_look = least_rounds;
  std::vector<double> intervals_ratio;  // at each look
  for (int round = 1; round <= RerankSpec::kMostRounds / num_workers && !worker_.context_lost;
       ++round) {
    run_round(round - 1, true);
    const int elimination = round % kEliminationRounds == 0 ? round / kEliminationRounds : 0;
    const bool late = seconds_since(begin) > kMostSeconds / num_workers;
    const bool look = round >= next_look || (late && round >= least_rounds);
    if (look || (elimination > 0 && elimination <= kEliminations)) {
      eliminate_all(elimination == kEliminations);
    }
    if (elimination == 1) {
      entries_.add_allocations(share_, kMostAllocations);
      least_rounds = least_rounds_of(spec_, entries_);
      next_look = std::max(next_look, least_rounds);
    }
    if (!look) continue;
    next_look *= kLookGrowth;
    intervals_ratio.push_back(interval_ratio());
    const double now = intervals_ratio.back();
    const std::size_t looks = intervals_ratio.size();
    if (late || now <= precision_ratio) return;
    if (looks > 2 && now > kLeastImprovement * *std::min_element(intervals_ratio.begin(),
                                                                 intervals_ratio.end() - 2)) {
      return;
    }
  }
}

void Race::measure_energy() {
  if (!worker_.nvml) return;
  const std::vector<RunnableEntry*> runnables = entries_.all();
  std::vector<std::vector<double>> joules(runnables.size());
  for (int round = 0; round < kEnergyRounds; ++round) {
    for (const std::size_t i : order_of_round(round, runnables.size())) {
      const RunnableEntry& runnable = *runnables[i];
      if (!runnable.timed() || worker_.context_lost) continue;
      runnable.entry->outcome = entry_outcome(worker_, [&] {
        const auto energy_j = joules_per_launch(worker_.support, *worker_.nvml,
                                                runnable.works.front(), kEnergySeconds);
        if (energy_j) joules[i].push_back(*energy_j);
      });
    }
  }
  for (std::size_t i = 0; i < runnables.size(); ++i) {
    if (!joules[i].empty()) runnables[i]->entry->energy_j = median(joules[i]);
  }
}

int launches_before_check(const RunnableEntry& runnable, bool leader) {
  const double time_s = runnable.time_ns() * 1e-9;
  const double limit = leader ? kLeaderSeconds : kOtherSeconds;
  return static_cast<int>(
      std::min(leader ? kLeaderLaunches : kOtherLaunches, std::max(1.0, limit / time_s)));
}

/// What was found wrong of the A/A duplicate is wrong of the first, whose code it is.
void Race::blame_first_for_duplicate() {
  const Outcome& found = entries_.candidates.back().entry->outcome;
  Outcome& outcome = entries_.candidates.front().entry->outcome;
  if (outcome.status == Status::correct && !is_machine_fault(found.status, found.kind)) {
    outcome = found;
  }
}

void Race::check_candidates() {
  const RunnableEntry* best = fastest(entries_.candidates);
  // The last is the A/A duplicate. Its code is that of the first, which is checked.
  if (best == &entries_.candidates.back()) best = &entries_.candidates.front();
  check_each([&](RunnableEntry& runnable) {
    runnable.entry->outcome.validation = runnable.trials.front()->check_over_numbers(
        launches_before_check(runnable, &runnable == best));
  });
  for (const DataKind kind : {DataKind::shifted, DataKind::scaled_rows, DataKind::sparse,
                              DataKind::constant, DataKind::large, DataKind::planted}) {
    const std::uint64_t seed = worker_.secret();  // for all, so that they share a reference
    check_each([&](RunnableEntry& runnable) { runnable.trials.front()->check_on(kind, seed); });
  }
  for (const Crowding crowding : kCrowdings) {
    const std::uint64_t seed = worker_.secret();
    check_each([&](RunnableEntry& runnable) {
      runnable.trials.front()->check_crowded(crowding, runnable.time_ns(), seed);
    });
  }
  if (!has_fenced_memory(worker_.driver)) return;
  for (const auto side : {FencedMemory::Side::end, FencedMemory::Side::begin}) {
    FencedInputs inputs(worker_, side);
    check_each(
        [&](RunnableEntry& runnable) { runnable.trials.front()->check_fenced(inputs, side); });
  }
}

/// Runs the check on each candidate that passed so far.
void Race::check_each(const std::function<void(RunnableEntry&)>& check) {
  for (std::size_t i = 0; i + 1 < entries_.candidates.size(); ++i) {
    RunnableEntry& runnable = entries_.candidates[i];
    // Once the context is lost, this result is of no use: the parent has the others ranked again.
    if (!runnable.timed() || worker_.context_lost) continue;
    Outcome outcome = worker_.guarded([&] {
      check(runnable);
      return Outcome{};
    });
    if (outcome.status != Status::correct) runnable.entry->outcome = std::move(outcome);
  }
}

}  // namespace

RerankResult rerank_in_turn(WorkerState& worker, const std::vector<TrialRequest>& candidates,
                            const std::vector<std::string>& baselines, const RerankSpec& spec,
                            int num_workers) {
  for (const std::string& name : baselines) {
    for (const TrialRequest& candidate : candidates) require_baseline(candidate.plan, name);
  }
  RerankResult result;
  result.candidates.resize(candidates.size());
  if (candidates.empty()) return result;
  RerankEntries runnables(worker, candidates, baselines, result);
  const double share =
      spec.precision_ratio == 0
          ? 1
          : std::clamp(kWholePrecisionRatio / spec.precision_ratio, kLeastShare, 1.0);
  runnables.add_allocations(share, kFirstAllocations);
  Race race(worker, runnables,
            row_of(kProtocols, "protocol", candidates.front().measure.protocol).id, spec, share);
  race.run(num_workers);
  if (spec.objective.reads("energy_j")) race.measure_energy();
  race.blame_first_for_duplicate();
  race.check_candidates();
  result.baselines = runnables.baseline_entries();
  return result;
}

}  // namespace assay
