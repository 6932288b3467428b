#include "worker/baseline.h"

#include <fmt/format.h>

#include "base/find_named.h"
#include "base/rank.h"
#include "judge/operations/gemm.h"
#include "worker/prepared_trial.h"
#include "worker/sequence_baseline.h"

namespace assay {
namespace {

void time_product(WorkerState& worker, const TrialRequest& request, const std::string& name,
                  std::vector<BaselineTiming>& timings) {
  ProductBaseline baseline(worker, request);
  const int best = baseline.best_algorithms(worker).front();
  const auto time = [&](int algorithm) {
    baseline.enqueue(algorithm);  // loads its kernel
    worker.synchronise();
    return worker.measure(baseline.timed(algorithm), request.measure);
  };
  const Timing first = time(0);
  timings.push_back({name + "_first", baseline.product->describe(0), first});
  timings.push_back(
      {name + "_best", baseline.product->describe(best), best == 0 ? first : time(best)});
}

void time_steps(WorkerState& worker, const TrialRequest& request, const BaselinePlan& steps,
                std::vector<BaselineTiming>& timings) {
  SequenceBaseline baseline(worker, request, steps);
  baseline.check();
  const std::string parts = baseline.time_parts();
  const std::vector<std::string> names = names_of_times(request, steps.name);
  for (const int way : baseline.ways(worker)) {
    timings.push_back({names[static_cast<std::size_t>(way)], parts,
                       worker.measure(baseline.timed(way), request.measure)});
  }
}

}  // namespace

Outcome entry_outcome(WorkerState& worker, const Work& work) {
  return worker.guarded([&] {
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

void require_baseline(const Plan& plan, const std::string& name) {
  if (name == kCublasLt || find_named(plan.baselines, name) != nullptr) return;
  throw UsageError("no baseline {}; there is {}, and what a contract describes", name, kCublasLt);
}

std::unique_ptr<Baseline> make_baseline(WorkerState& worker, const TrialRequest& request,
                                        const std::string& name) {
  const BaselinePlan* steps = find_named(request.plan.baselines, name);
  if (steps == nullptr) return std::make_unique<ProductBaseline>(worker, request);
  return std::make_unique<SequenceBaseline>(worker, request, *steps);
}

std::vector<std::string> names_of_times(const TrialRequest& request, const std::string& name) {
  const BaselinePlan* steps = find_named(request.plan.baselines, name);
  if (steps == nullptr) return {name + "_first", name + "_best"};
  const std::string end(steps->relative ? kOtherAccuracy : "");
  if (!SequenceBaseline::has_graph(*steps, request.measure)) return {name + end};
  return {name + end, name + "_graph" + end};
}

std::vector<BaselineTiming> time_baselines(WorkerState& worker, const TrialRequest& request,
                                           const std::vector<std::string>& baselines) {
  for (const std::string& name : baselines) require_baseline(request.plan, name);
  std::vector<BaselineTiming> timings;
  for (const std::string& name : baselines) {
    worker.enter_problem(request.plan.problem);
    worker.arena.reserve(arena_bytes(request.plan));
    const BaselinePlan* steps = find_named(request.plan.baselines, name);
    if (steps == nullptr) {
      time_product(worker, request, name, timings);
      continue;
    }
    const std::size_t before = timings.size();
    const Outcome outcome =
        entry_outcome(worker, [&] { time_steps(worker, request, *steps, timings); });
    if (outcome.status == Status::correct) continue;
    timings.resize(before);
    timings.push_back({name, "", {}, outcome.message});
    if (worker.context_lost) break;
  }
  return timings;
}

ProductBaseline::ProductBaseline(WorkerState& worker, const TrialRequest& request) {
  const Plan& plan = request.plan;
  if (plan.reference.size() != 1 || plan.reference[0].operation != "gemm") {
    throw Failure(Status::runtime, "baseline", "cublaslt needs a reference that is one gemm");
  }
  const InputMap inputs = make_inputs(worker, plan, request.seed);
  std::vector<GuardedBuffer> guarded = lay_out(plan, worker.arena.begin());
  for (const auto& [name, input] : inputs) guarded.push_back(input->buffer);
  zones.emplace(worker.support, guarded);
  redraw.emplace(worker, plan, inputs, *worker.references.get(plan, inputs), *zones);
  OperationCall call = reference_call(plan, 0, inputs, {});
  const std::string& out_name = plan.reference[0].operands.at("out");
  const BufferPlan& out_buffer = *plan.find_buffer(out_name);
  call.operands["out"] = {0, out_buffer.dtype, out_buffer.shape};
  out = find_named(guarded, out_name)->data;  // the outputs are ahead of the inputs
  const GemmShape gemm = gemm_shape(call);
  key = fmt::format("{}x{}x{} {} {}{}{}", gemm.m, gemm.n, gemm.k, to_text(gemm.dtype),
                    to_text(call.operand("out").dtype), gemm.transpose_a ? " ta" : "",
                    gemm.transpose_b ? " tb" : "");
  product = std::make_unique<LtMatmul>(worker.engine, call);
}

TimedWork ProductBaseline::timed(int algorithm) const {
  return {.launch = [this, algorithm] { enqueue(algorithm); },
          .before = [this] { (*redraw)(); },
          .between = [this] { redraw->spoil_sometimes(); }};
}

const std::vector<int>& ProductBaseline::best_algorithms(WorkerState& worker) {
  std::vector<int>& known = worker.best_algorithms[key];
  if (known.empty()) known = product->shortlist(worker.timer, out, kMostAlgorithms);
  return known;
}

std::vector<int> ProductBaseline::ways(WorkerState& worker) {
  std::vector<int> algorithms{0};
  for (const int algorithm : best_algorithms(worker)) {
    if (algorithm != 0) algorithms.push_back(algorithm);
  }
  return algorithms;
}

}  // namespace assay
