#include "device/rerank.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <random>

#include "base/stats.h"
#include "device/energy.h"
#include "device/trial.h"

namespace assay {
namespace {

// The last check comes after this many launches back to back, bounded by a time: what a counter, a
// leak or heat changes shows late. The leader is what gets used, so it gets most.
constexpr double kLeaderLaunches = 2000, kLeaderSeconds = 0.5;
constexpr double kOtherLaunches = 300, kOtherSeconds = 0.1;

// After each so many rounds, thrice, what is clearly slower than the fastest leaves, and the third
// time all but the `top` fastest. Eight rounds are the fewest whose interval survives an outlier.
constexpr int kEliminationRounds = 8;
constexpr int kEliminations = 3;
constexpr double kEliminationMargin = 0.005;  // as between different times in report/ranking.h

// Rounds go on until the interval of the ratios is this narrow to each side, or one of the limits
// is reached. A half-width of 0.2 % lets a ratio spread by about 0.35 % over 15 repetitions.
constexpr double kPrecisionRatio = 0.002;
constexpr int kMostRounds = 1000;
constexpr double kMostSeconds = 10;
// Looking costs a sort of n^2/2 numbers, and every look is a chance to stop on luck.
constexpr double kLookGrowth = 1.5;

// An algorithm of a baseline that is no more than 3 % slower than the best in a quick look may be
// the best in truth: which one a quick look prefers changes from process to process, and with it
// the baseline, by up to 1 % at 4096^3 on an H200.
constexpr std::size_t kMostAlgorithms = 4;

constexpr int kEnergyRounds = 5;
constexpr double kEnergySeconds = 0.25;

/// One of those taken in turn. Its times go to `entry`.
struct Entrant {
  RerankEntry* entry = nullptr;
  std::unique_ptr<Trial> trial;  // none for a baseline
  Work work;
  bool stays = false;  // whatever its times: what others are compared with

  bool alive() const { return entry->outcome.status == Status::correct && !entry->eliminated; }
  bool timed() const { return alive() && !entry->samples_ns.empty(); }
  double median_ns() const { return median(entry->samples_ns); }
};

/// The candidates, or one baseline's algorithms, which compete among themselves.
using Group = std::vector<Entrant>;

/// A baseline's first choice and its other algorithms that may be its best.
struct BaselineRace {
  std::string name;
  std::unique_ptr<ProductBaseline> product;
  std::vector<RerankEntry> entries;  // that of the first choice first
  Group entrants;
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
    if (entrant.timed() && (!best || entrant.median_ns() < best->median_ns())) best = &entrant;
  }
  return best;
}

/// A race: who takes part and how it is run.
class Race {
 public:
  Race(Bench& bench, Preparation preparation) : bench_(bench), preparation_(preparation) {}

  Group candidates;  // the first is the screening's leader, the last its twin
  std::vector<BaselineRace> baselines;

  /// Rounds until the spec and the precision are satisfied.
  void run(const RerankSpec& spec);
  void measure_energy();
  /// The last checks, each after many launches.
  void check_candidates();

 private:
  std::vector<Entrant*> all();
  void run_round(int round, bool keep);
  void eliminate(Group& group, std::size_t top);
  bool is_precise() const;

  Bench& bench_;
  Preparation preparation_;
};

std::vector<Entrant*> Race::all() {
  std::vector<Entrant*> entrants;
  for (Entrant& entrant : candidates) entrants.push_back(&entrant);
  for (BaselineRace& baseline : baselines) {
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
      const Sample sample = bench_.timer.sample(entrant.work, preparation_);
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
               &entrant != &candidates.back();
      }));
  const std::size_t places = top > staying ? top - staying : 0;
  std::sort(rest.begin(), rest.end(),
            [](const Entrant* a, const Entrant* b) { return a->median_ns() < b->median_ns(); });
  for (std::size_t i = places; i < rest.size(); ++i) rest[i]->entry->eliminated = true;
}

/// Whether the ratio of the twins, and of the baseline to the best, are known well enough.
bool Race::is_precise() const {
  const auto is_narrow = [](const Entrant& a, const Entrant& b) {
    const Interval ratio = paired_ratio(a.entry->samples_ns, b.entry->samples_ns);
    return (ratio.high - ratio.low) / 2 <= kPrecisionRatio;
  };
  const Entrant& leader = candidates.front();
  const Entrant& twin = candidates.back();
  if (leader.timed() && twin.timed() && !is_narrow(twin, leader)) return false;
  const Entrant* best = fastest(candidates);
  return std::all_of(baselines.begin(), baselines.end(), [&](const BaselineRace& baseline) {
    const Entrant* other = fastest(baseline.entrants);
    return !best || !other || is_narrow(*best, *other);
  });
}

void Race::run(const RerankSpec& spec) {
  const Entrant& leader = candidates.front();
  if (leader.alive() && !bench_.context_lost) {
    // What fails here fails again in the rounds.
    leader.entry->outcome =
        baseline_outcome(bench_, [&] { bench_.timer.settle(leader.work, preparation_); });
  }
  run_round(0, false);  // thrown away, as the first of a trial is
  const auto begin = std::chrono::steady_clock::now();
  double next_look = spec.rounds;
  for (int round = 1; round <= kMostRounds && !bench_.context_lost; ++round) {
    run_round(round - 1, true);
    if (round % kEliminationRounds == 0 && round <= kEliminations * kEliminationRounds) {
      const bool last = round == kEliminations * kEliminationRounds;
      eliminate(candidates, last ? static_cast<std::size_t>(spec.top) : candidates.size());
      for (BaselineRace& baseline : baselines) eliminate(baseline.entrants, kMostAlgorithms);
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
                                                entrant.work, kEnergySeconds);
        if (energy_j) joules[i].push_back(*energy_j);
      });
    }
  }
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (!joules[i].empty()) entrants[i]->entry->energy_j = median(joules[i]);
  }
}

void run_many(Bench& bench, const Entrant& entrant, bool leader) {
  const double time_s = entrant.median_ns() * 1e-9;
  const double limit = leader ? kLeaderSeconds : kOtherSeconds;
  const double launches =
      std::min(leader ? kLeaderLaunches : kOtherLaunches, std::max(1.0, limit / time_s));
  for (int i = 0; i < static_cast<int>(launches); ++i) entrant.trial->enqueue();
  bench.synchronise();
}

void Race::check_candidates() {
  const Entrant* best = fastest(candidates);
  for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {  // the twin is checked as the leader
    Entrant& entrant = candidates[i];
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
      outcome.validation = entrant.trial->check();
      return outcome;
    });
  }
}

/// Makes a trial of the request and checks it once.
Entrant make_candidate(Bench& bench, const TrialRequest& request, RerankEntry& entry) {
  Entrant entrant;
  entrant.entry = &entry;
  entry.name = to_text(request.plan.config);
  entry.outcome = bench.guarded([&] {
    entrant.trial = std::make_unique<Trial>(bench, request);
    entrant.trial->check();
    return Outcome{};
  });
  entrant.work = [trial = entrant.trial.get()] { trial->enqueue(); };
  return entrant;
}

BaselineRace make_baseline(Bench& bench, const TrialRequest& request, const std::string& name) {
  BaselineRace race;
  race.name = name;
  std::vector<int> algorithms{0};
  const Outcome outcome = baseline_outcome(bench, [&] {
    race.product = std::make_unique<ProductBaseline>(bench, request);
    for (const int algorithm : race.product->best_algorithms(bench)) {
      if (algorithm != 0) algorithms.push_back(algorithm);
    }
    for (const int algorithm : algorithms) race.product->enqueue(algorithm);  // loads its kernel
    bench.synchronise();
  });
  race.entries.resize(algorithms.size());
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    race.entries[i].outcome = outcome;
    Entrant entrant;
    entrant.entry = &race.entries[i];
    entrant.work = [product = race.product.get(), algorithm = algorithms[i]] {
      product->enqueue(algorithm);
    };
    entrant.stays = i == 0;
    race.entrants.push_back(std::move(entrant));
  }
  return race;
}

}  // namespace

ProductBaseline::ProductBaseline(Bench& bench, const TrialRequest& request) {
  const Plan& plan = request.plan;
  if (plan.reference.size() != 1 || plan.reference[0].operation != "gemm") {
    throw Failure(Status::runtime, "baseline", "cublaslt needs a reference that is one gemm");
  }
  inputs = make_inputs(bench, plan, request.seed);
  OperationCall call = reference_call(plan, 0, inputs, {});
  const std::string& out_name = plan.reference[0].operands.at("out");
  for (const ArgPlan& arg : plan.args) {
    const auto* buffer = std::get_if<BufferPlan>(&arg);
    if (buffer != nullptr && buffer->name == out_name) call.out.dtype = buffer->dtype;
  }
  for (const GuardedBuffer& buffer : lay_out(plan, bench.arena.begin())) {
    if (buffer.name == out_name) out = buffer.data;
  }
  const GemmShape gemm = gemm_shape(call);
  key = fmt::format("{}x{}x{} {} {}{}{}", gemm.m, gemm.n, gemm.k, to_text(gemm.dtype),
                    to_text(call.out.dtype), gemm.transpose_a ? " ta" : "",
                    gemm.transpose_b ? " tb" : "");
  product = std::make_unique<LtMatmul>(bench.driver, bench.stream, bench.engine.cublas(), call);
}

const std::vector<int>& ProductBaseline::best_algorithms(Bench& bench) {
  std::vector<int>& known = bench.best_algorithms[key];
  if (known.empty()) known = product->shortlist(bench.timer, out, kMostAlgorithms);
  return known;
}

void require_baseline(const std::string& name) {
  if (name != "cublaslt") {
    throw UsageError(fmt::format("no baseline {}; there is cublaslt", name));
  }
}

std::vector<BaselineTiming> time_baselines(Bench& bench, const TrialRequest& request,
                                           const std::vector<std::string>& baselines) {
  std::vector<BaselineTiming> timings;
  for (const std::string& name : baselines) {
    require_baseline(name);
    bench.enter_problem(request.plan.problem);
    bench.arena.reserve(Trial::arena_bytes(request.plan));
    ProductBaseline baseline(bench, request);
    const int best = baseline.best_algorithms(bench).front();
    const auto time = [&](int algorithm) {
      baseline.enqueue(algorithm);  // loads its kernel
      bench.synchronise();
      return bench.measure([&] { baseline.enqueue(algorithm); }, request.measure);
    };
    const Timing first = time(0);
    timings.push_back({name + "_first", baseline.product->describe(0), first});
    timings.push_back(
        {name + "_best", baseline.product->describe(best), best == 0 ? first : time(best)});
  }
  return timings;
}

RerankResult rerank_in_turn(Bench& bench, const std::vector<TrialRequest>& candidates,
                            const std::vector<std::string>& baselines, const RerankSpec& spec) {
  for (const std::string& name : baselines) require_baseline(name);
  RerankResult result;
  result.candidates.resize(candidates.size());
  if (candidates.empty()) return result;

  // Every address is fixed before the first trial binds its arguments.
  std::size_t bytes = 0;
  for (const TrialRequest& request : candidates) {
    bytes = std::max(bytes, Trial::arena_bytes(request.plan));
  }
  bench.enter_problem(candidates[0].plan.problem);
  bench.release_memory();  // all candidates must fit together, and the sweep kept other shapes
  bench.arena.reserve(bytes);

  Race race(bench, preparation_of(candidates[0].measure.protocol));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    race.candidates.push_back(make_candidate(bench, candidates[i], result.candidates[i]));
  }
  race.candidates.push_back(make_candidate(bench, candidates[0], result.twin.emplace()));
  race.candidates.front().stays = race.candidates.back().stays = true;
  for (const std::string& name : baselines) {
    race.baselines.push_back(make_baseline(bench, candidates[0], name));
  }

  race.run(spec);
  if (spec.objective != Objective::time) race.measure_energy();
  race.check_candidates();
  for (BaselineRace& baseline : race.baselines) {
    const Entrant* best = fastest(baseline.entrants);
    const RerankEntry& first = baseline.entries.front();
    for (const auto& [suffix, entry] :
         {std::pair{"_first", &first}, std::pair{"_best", best ? best->entry : &first}}) {
      result.baselines.push_back(*entry);
      result.baselines.back().name = baseline.name + suffix;
    }
  }
  return result;
}

}  // namespace assay
