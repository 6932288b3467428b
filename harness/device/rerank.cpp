#include "device/rerank.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "base/stats.h"
#include "device/trial.h"

namespace assay {
namespace {

// The last check comes after this many launches back to back, bounded by a time: what a counter, a
// leak or heat changes shows late. The leader is what gets used, so it gets most.
constexpr double kLeaderLaunches = 2000, kLeaderSeconds = 0.5;
constexpr double kOtherLaunches = 300, kOtherSeconds = 0.1;

/// One of those taken in turn. Its times go to `entry`.
struct Entrant {
  RerankEntry* entry = nullptr;
  std::unique_ptr<Trial> trial;  // none for a baseline
  Work work;                     // none for what is not timed itself
  bool is_twin = false;

  bool alive() const { return entry->outcome.status == Status::correct; }
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

void run_many(Bench& bench, const Entrant& entrant, bool leader) {
  const double time_s = median(entrant.entry->samples_ns) * 1e-9;
  const double limit = leader ? kLeaderSeconds : kOtherSeconds;
  const double launches =
      std::min(leader ? kLeaderLaunches : kOtherLaunches, std::max(1.0, limit / time_s));
  for (int i = 0; i < static_cast<int>(launches); ++i) entrant.trial->enqueue();
  bench.synchronise();
}

const Entrant* fastest(const std::vector<Entrant>& entrants) {
  const Entrant* best = nullptr;
  double best_ns = std::numeric_limits<double>::infinity();
  for (const Entrant& entrant : entrants) {
    if (!entrant.alive() || !entrant.trial || entrant.is_twin) continue;
    if (entrant.entry->samples_ns.empty()) continue;
    const double time_ns = median(entrant.entry->samples_ns);
    if (time_ns < best_ns) best = &entrant;
    best_ns = std::min(best_ns, time_ns);
  }
  return best;
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

/// One sample of each in the order of the round, under one hold of the GPU.
void run_round(Bench& bench, std::vector<Entrant>& entrants, Preparation preparation, int round,
               bool keep) {
  const GpuLock lock = bench.lock();
  for (const std::size_t i : order_of_round(round, entrants.size())) {
    Entrant& entrant = entrants[i];
    if (!entrant.alive() || !entrant.work || bench.context_lost) continue;
    entrant.entry->outcome = baseline_outcome(bench, [&] {
      const double time_ns = bench.timer.sample(entrant.work, preparation).time_ns;
      if (keep) entrant.entry->samples_ns.push_back(time_ns);
    });
  }
}

/// Brings the GPU to the state that the protocol asks for; what fails here fails again in the
/// rounds.
void settle(Bench& bench, const Entrant& entrant, Preparation preparation) {
  if (!entrant.alive() || bench.context_lost) return;
  const GpuLock lock = bench.lock();
  entrant.entry->outcome =
      baseline_outcome(bench, [&] { bench.timer.settle(entrant.work, preparation); });
}

/// Makes a trial of the request and checks it once.
Entrant make_candidate(Bench& bench, const TrialRequest& request, RerankEntry& entry) {
  Entrant entrant;
  entrant.entry = &entry;
  entry.name = to_text(request.plan.config);
  const GpuLock lock = bench.lock();
  entry.outcome = bench.guarded([&] {
    entrant.trial = std::make_unique<Trial>(bench, request);
    entrant.trial->check();
    return Outcome{};
  });
  entrant.work = [trial = entrant.trial.get()] { trial->enqueue(); };
  return entrant;
}

/// The baseline's first choice and its best one. Where they are one, the best alone is timed and
/// `first` is left without work.
void add_baseline(Bench& bench, const TrialRequest& request, const std::string& name,
                  Entrant& first, Entrant& best, std::unique_ptr<ProductBaseline>& product) {
  first.entry->name = name + "_first";
  best.entry->name = name + "_best";
  const GpuLock lock = bench.lock();
  const auto run_once = [&](Entrant& entrant, int algorithm) {
    product->enqueue(algorithm);  // loads its kernel
    bench.synchronise();
    entrant.work = [baseline = product.get(), algorithm] { baseline->enqueue(algorithm); };
  };
  best.entry->outcome = baseline_outcome(bench, [&] {
    product = std::make_unique<ProductBaseline>(bench, request);
    const int algorithm = product->best_algorithm(bench);
    run_once(best, algorithm);
    if (algorithm != 0) run_once(first, 0);
  });
}

void check_last(Bench& bench, Entrant& entrant, bool leader) {
  const GpuLock lock = bench.lock();
  if (bench.context_lost) {
    entrant.entry->outcome =
        Failure(Status::runtime, "sticky", "not checked: another candidate lost the context")
            .outcome();
    return;
  }
  entrant.entry->outcome = bench.guarded([&] {
    run_many(bench, entrant, leader);
    Outcome outcome;
    outcome.validation = entrant.trial->check();
    return outcome;
  });
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

int ProductBaseline::best_algorithm(Bench& bench) {
  const auto known = bench.best_algorithms.find(key);
  if (known != bench.best_algorithms.end()) return known->second;
  return bench.best_algorithms[key] = product->find_best(bench.timer, out);
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
    const GpuLock lock = bench.lock();
    bench.enter_problem(request.plan.problem);
    bench.arena.reserve(Trial::arena_bytes(request.plan));
    ProductBaseline baseline(bench, request);
    const int best = baseline.best_algorithm(bench);
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
  result.baselines.resize(2 * baselines.size());
  if (candidates.empty()) return result;
  const Preparation preparation = preparation_of(candidates[0].measure.protocol);

  // Every address is fixed before the first trial binds its arguments.
  std::size_t bytes = 0;
  for (const TrialRequest& request : candidates) {
    bytes = std::max(bytes, Trial::arena_bytes(request.plan));
  }
  bench.enter_problem(candidates[0].plan.problem);
  bench.release_memory();  // all candidates must fit together, and the sweep kept other shapes
  bench.arena.reserve(bytes);

  std::vector<Entrant> entrants;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    entrants.push_back(make_candidate(bench, candidates[i], result.candidates[i]));
  }
  entrants.push_back(make_candidate(bench, candidates[0], result.twin.emplace()));
  entrants.back().is_twin = true;
  std::vector<std::unique_ptr<ProductBaseline>> products(baselines.size());
  for (std::size_t i = 0; i < baselines.size(); ++i) {
    Entrant first, best;
    first.entry = &result.baselines[2 * i];
    best.entry = &result.baselines[2 * i + 1];
    add_baseline(bench, candidates[0], baselines[i], first, best, products[i]);
    entrants.push_back(std::move(first));
    entrants.push_back(std::move(best));
  }

  settle(bench, entrants[0], preparation);
  run_round(bench, entrants, preparation, 0, false);  // thrown away, as the first of a trial is
  for (int round = 0; round < spec.rounds; ++round) {
    run_round(bench, entrants, preparation, round, true);
  }
  const Entrant* leader = fastest(entrants);
  for (Entrant& entrant : entrants) {
    if (entrant.trial && entrant.alive() && !entrant.is_twin &&
        !entrant.entry->samples_ns.empty()) {
      check_last(bench, entrant, &entrant == leader);
    }
  }
  for (std::size_t i = 0; i < baselines.size(); ++i) {
    RerankEntry& first = result.baselines[2 * i];
    const RerankEntry& best = result.baselines[2 * i + 1];
    if (first.samples_ns.empty()) first = {first.name, best.samples_ns, best.outcome};
  }
  return result;
}

}  // namespace assay
