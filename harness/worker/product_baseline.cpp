#include "worker/product_baseline.h"

#include <fmt/format.h>

#include "judge/operations/gemm.h"
#include "worker/prepared_trial.h"

namespace assay {

ProductBaseline::ProductBaseline(WorkerState& worker, const TrialRequest& request) {
  const Plan& plan = request.plan;
  if (plan.reference.size() != 1 || plan.reference[0].operation != "gemm") {
    throw Failure(Status::runtime, "baseline", "cublaslt needs a reference that is one gemm");
  }
  const InputMap inputs = make_inputs(worker, plan, request.seed);
  std::vector<GuardedBuffer> guarded = lay_out(plan, worker.arena.begin());
  for (const auto& [name, input] : inputs) guarded.push_back(input->buffer);
  zones.emplace(worker.driver, worker.stream, worker.support, guarded);
  redraw.emplace(worker, plan, inputs, *worker.references.get(plan, inputs), *zones);
  OperationCall call = reference_call(plan, 0, inputs, {});
  const std::string& out_name = plan.reference[0].operands.at("out");
  const BufferPlan& out_buffer = *plan.find_buffer(out_name);
  call.operands["out"] = {0, out_buffer.dtype, out_buffer.shape};
  for (const GuardedBuffer& buffer : lay_out(plan, worker.arena.begin())) {
    if (buffer.name == out_name) out = buffer.data;
  }
  const GemmShape gemm = gemm_shape(call);
  key = fmt::format("{}x{}x{} {} {}{}{}", gemm.m, gemm.n, gemm.k, to_text(gemm.dtype),
                    to_text(call.operand("out").dtype), gemm.transpose_a ? " ta" : "",
                    gemm.transpose_b ? " tb" : "");
  product = std::make_unique<LtMatmul>(worker.driver, worker.stream, worker.engine.cublas(), call);
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
