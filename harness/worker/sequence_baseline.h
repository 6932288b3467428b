#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/reference.h"
#include "worker/baseline.h"
#include "worker/prepared_buffers.h"

namespace assay {

/// A baseline of steps: products by NVIDIA's libraries, operations of the harness, kernels of the
/// user's own. What only later steps read is in memory of the baseline's own.
class SequenceBaseline : public Baseline {
 public:
  /// Its inputs are those of the trial, and its outputs where the trial's are in the arena. Throws
  /// Failure, CudaError, Error.
  SequenceBaseline(WorkerState& worker, const TrialRequest& request, const BaselinePlan& baseline);

  /// Whether it is also run as a CUDA graph: not where there is nothing to gain, or where the
  /// protocol does so.
  static bool has_graph(const BaselinePlan& baseline, const MeasureSpec& measure);

  void check() override;
  /// 0, the stream, and 1, the graph.
  std::vector<int> ways(WorkerState& worker) override;
  TimedWork timed(int way) const override;
  /// "cublaslt 12.1 us (algorithm 2 of 8, workspace 32 MiB), gelu 3.2 us": each step alone.
  std::string time_parts() const;

 private:
  struct Step {
    std::string name, detail;
    std::function<void()> enqueue;
  };

  void add_operation(const ReferencePlan& step);
  void add_kernel(const ReferenceKernelPlan& kernel);
  std::function<void()> product(const OperationCall& call, std::string& detail);
  std::function<void()> products_apart(const std::vector<OperationCall>& groups,
                                       std::string& detail);
  std::function<void()> scaled_products_apart(OperationCall call, std::string& detail);
  std::function<void()> sparse_product(const OperationCall& call, std::string& detail);
  Operand operand(const std::string& name) const;
  Operand make_result(const std::string& name, DType dtype, std::vector<std::int64_t> shape);
  void refer();
  void capture();
  void enqueue() const;

  WorkerState* worker_;
  const Plan plan_;
  std::uint64_t seed_;
  InputMap inputs_;
  std::vector<GuardedBuffer> placed_;
  std::optional<GuardZones> zones_;
  std::optional<Redraw> redraw_;
  CheckedBuffers buffers_;
  std::shared_ptr<const Reference> reference_;
  std::map<std::string, Operand> results_;
  std::vector<DeviceMemory> memory_;  // of the results
  std::vector<Step> steps_;
  double rounding_ = 0;             // of what later steps read, relative to the output
  std::optional<double> relative_;  // see BaselineSpec
  bool has_graph_;
  GraphInstance graph_;
};

}  // namespace assay
