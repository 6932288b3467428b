#include "worker/sequence_baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/find_named.h"
#include "judge/lt_matmul.h"
#include "judge/operations/gemm.h"
#include "judge/reference_shapes.h"
#include "judge/sparse_matvec.h"
#include "launch/launcher.h"
#include "space/plan_json.h"
#include "worker/prepared_trial.h"

namespace assay {
namespace {

constexpr int kPartSamples = 9;
// What is rounded between two steps may grow in the next: where SiLU is nearly 0, by as much.
constexpr double kEnlarged = 4;

Failure wrong(const std::string& message) { return {Status::runtime, "baseline", message}; }

}  // namespace

SequenceBaseline::SequenceBaseline(WorkerState& worker, const TrialRequest& request,
                                   const BaselinePlan& baseline)
    : worker_(&worker),
      plan_(request.plan),
      seed_(request.seed),
      inputs_(make_inputs(worker, plan_, request.seed)),
      placed_(lay_out(plan_, worker.arena.begin())),
      buffers_(checked_buffers(plan_, inputs_, placed_)),
      relative_(baseline.relative),
      has_graph_(has_graph(baseline, request.measure)) {
  zones_.emplace(worker.support, buffers_.guarded());
  redraw_.emplace(worker, plan_, inputs_, *worker.references.get(plan_, inputs_), *zones_);
  (*redraw_)();  // cuBLASLt's algorithms are chosen on real numbers
  for (const ReferencePlan& step : baseline.steps) {
    if (step.kernel) {
      add_kernel(*step.kernel);
    } else {
      add_operation(step);
    }
    if (step.round) rounding_ += kEnlarged * unit_roundoff(*step.round);
    steps_.back().enqueue();  // a first launch loads code, which must not happen in a held stream
    worker.synchronise();
  }
  if (has_graph_) capture();
}

bool SequenceBaseline::has_graph(const BaselinePlan& baseline, const MeasureSpec& measure) {
  constexpr std::string_view kManyLaunches = "grouped_scaled_gemm";
  const bool one_launch =
      baseline.steps.size() == 1 && baseline.steps.front().operation != kManyLaunches;
  return !one_launch && measure.protocol != name_of(kProtocols, Preparation::graph);
}

/// What a step finds under this name.
Operand SequenceBaseline::operand(const std::string& name) const {
  if (const auto made = results_.find(name); made != results_.end()) return made->second;
  const BufferPlan* buffer = plan_.find_buffer(name);
  if (buffer == nullptr) {
    throw wrong(fmt::format("{} is neither a buffer of {} nor made by an earlier step", name,
                            plan_.kernel));
  }
  const GuardedBuffer* const placed = find_named(placed_, name);
  return {placed != nullptr ? placed->data : inputs_.at(name)->buffer.data, buffer->dtype,
          buffer->shape};
}

Operand SequenceBaseline::make_result(const std::string& name, DType dtype,
                                      std::vector<std::int64_t> shape) {
  Operand& made = results_[name];
  made = {0, dtype, std::move(shape)};
  memory_.push_back(
      allocate(worker_->driver, static_cast<std::size_t>(made.elements() * size_bytes(dtype))));
  made.data = memory_.back().get();
  return made;
}

void SequenceBaseline::add_operation(const ReferencePlan& step) {
  const OperationRow& row = row_of(baseline_operations(), "operation", step.operation);
  const Operation& operation = operation_of(row.id);
  OperationCall call;
  call.options = step.options;
  bool wide = false;
  for (const OperandRow& input : row.inputs) {
    const std::string role(input.name);
    if (!step.operands.contains(role)) continue;
    call.operands[role] = operand(step.operands.at(role));
    wide = wide || call.operands[role].dtype == DType::f64;
  }
  const std::string role(row.outputs.front().name);
  const std::string& name = step.operands.at(role);
  const BufferPlan* buffer = plan_.find_buffer(name);
  if (buffer != nullptr) call.declared_shapes[role] = buffer->shape;
  std::vector<std::int64_t> shape = shape_made(row, call);
  if (buffer != nullptr && buffer->shape != shape) {
    throw wrong(fmt::format("{}: its {} is [{}], but {} is [{}]", step.operation, role,
                            fmt::join(shape, ","), name, fmt::join(buffer->shape, ",")));
  }
  const DType dtype = step.round.value_or(wide ? DType::f64 : DType::f32);
  call.operands[role] = buffer != nullptr ? operand(name) : make_result(name, dtype, shape);
  Step& added = steps_.emplace_back(Step{step.operation, "", {}});
  if (row.id == OperationId::scaled_gemm) {
    call.options.insert({{"transpose_a", false}, {"transpose_b", true}});
    added.enqueue = product(call, added.detail);
  } else if (row.id == OperationId::grouped_scaled_gemm) {
    added.enqueue = scaled_products_apart(call, added.detail);
  } else if (row.id == OperationId::gemm) {
    added.enqueue = product(call, added.detail);
  } else if (row.id == OperationId::grouped_gemm && call.flag(std::string(kCublasLt))) {
    added.enqueue = products_apart(products_of_groups(call, worker_->engine), added.detail);
  } else if (row.id == OperationId::grouped_gemm) {
    auto grouped = std::make_shared<GroupedMatmul>(worker_->engine, call);
    added.enqueue = [grouped] { grouped->enqueue(); };
    added.detail = "one call of cuBLAS";
  } else if (row.id == OperationId::spmv) {
    added.enqueue = sparse_product(call, added.detail);
  } else {
    added.enqueue = [this, &operation, call] { operation.compute(call, worker_->engine); };
  }
}

std::function<void()> SequenceBaseline::product(const OperationCall& call, std::string& detail) {
  const CUdeviceptr out = call.operand("out").data;
  const bool tf32 = call.options.contains("tf32") && call.flag("tf32");
  auto lt = std::make_shared<LtMatmul>(worker_->engine, call,
                                       tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F);
  nlohmann::json key = nlohmann::json::array({call.options});
  for (const auto& [role, operand] : call.operands)
    key.push_back({role, operand.dtype, operand.shape});
  std::vector<int>& known = worker_->best_algorithms[key.dump()];
  if (known.empty()) known = lt->shortlist(worker_->timer, out, kMostAlgorithms);
  const int best = known.front();
  detail = lt->describe(best);
  return [lt, best, out] { lt->enqueue(best, out); };
}

std::function<void()> SequenceBaseline::products_apart(const std::vector<OperationCall>& groups,
                                                       std::string& detail) {
  std::vector<std::function<void()>> products;
  for (const OperationCall& group : groups) products.push_back(product(group, detail));
  detail = fmt::format("{} products by cuBLASLt", products.size());
  return [products] {
    for (const auto& enqueue_one : products) enqueue_one();
  };
}

/// cuBLASLt takes rows by fours, and wants their scales in a matrix of their own. So the scales are
/// copied first, and the product of a group also makes up to three rows of the next group, which
/// are made again later. The last rows have room elsewhere. Where scales lie in another way than
/// cuBLASLt has them, `product` refuses them.
std::function<void()> SequenceBaseline::scaled_products_apart(OperationCall call,
                                                              std::string& detail) {
  call.options.insert({{"transpose_a", false}, {"transpose_b", true}});
  const Operand &a = call.operand("a"), &b = call.operand("b");
  const Operand &a_scales = call.operand("a_scales"), &b_scales = call.operand("b_scales");
  const auto begin_of = [](const Operand& part, const Operand& whole) {
    return static_cast<std::int64_t>(part.data - whole.data) / size_bytes(whole.dtype);
  };
  std::vector<OperationCall> groups = products_of_groups(call, worker_->engine);
  std::vector<std::int32_t> sources;  // of each copied scale
  std::vector<DeviceCopy> before, after;
  const auto move = [&](Operand& part, std::int64_t rows, std::vector<DeviceCopy>& copies) {
    const auto row_bytes = static_cast<std::size_t>(part.shape.at(1) * size_bytes(part.dtype));
    const auto bytes = static_cast<std::size_t>(part.shape.at(0)) * row_bytes;
    memory_.push_back(allocate(worker_->driver, static_cast<std::size_t>(rows) * row_bytes));
    copies.push_back({memory_.back().get(), part.data, bytes});
    part.data = memory_.back().get();
  };
  for (OperationCall& group : groups) {
    Operand &rows = group.operands.at("a"), &out = group.operands.at("out");
    const std::int64_t begin = begin_of(rows, a) / a.shape.at(1);
    const std::int64_t num_rows = rows.shape.at(0), padded_rows = (num_rows + 3) / 4 * 4;
    const std::int64_t matrix = begin_of(group.operand("b"), b) / (b.shape.at(1) * b.shape.at(2));
    const std::int64_t matrix_scales = b_scales.elements() / b_scales.shape.at(0);
    if (begin + padded_rows > a.shape.at(0)) {
      move(rows, padded_rows, before);
      move(out, padded_rows, after);
      std::swap(after.back().to, after.back().from);
    }
    rows.shape[0] = out.shape[0] = padded_rows;
    group.options = call.options;
    group.operands["a_scales"] = {
        sources.size() * sizeof(float), a_scales.dtype, {a_scales.shape.at(0), padded_rows}};
    group.operands["b_scales"] = {
        b_scales.data + static_cast<CUdeviceptr>(matrix * matrix_scales) * sizeof(float),
        b_scales.dtype,
        {b_scales.shape.at(1), b_scales.shape.at(2)}};
    for (std::int64_t block = 0; block < a_scales.shape.at(0); ++block) {
      const std::int64_t first = block * a_scales.shape.at(1) + begin;
      for (std::int64_t row = 0; row < padded_rows; ++row) {
        sources.push_back(static_cast<std::int32_t>(first + std::min(row, num_rows - 1)));
      }
    }
  }
  const auto count = static_cast<std::int64_t>(sources.size());
  const std::size_t bytes = sources.size() * sizeof(float);
  const CUdeviceptr index = memory_.emplace_back(allocate(worker_->driver, bytes)).get();
  const CUdeviceptr copied = memory_.emplace_back(allocate(worker_->driver, bytes)).get();
  worker_->support.upload(index, sources.data(), bytes);
  for (OperationCall& group : groups) group.operands.at("a_scales").data += copied;
  const auto copy_all = [this](const std::vector<DeviceCopy>& copies) {
    for (const auto& [to, from, size] : copies) {
      worker_->driver.cuMemcpyDtoDAsync(to, from, size, worker_->stream);
    }
  };
  const auto prepare = [this, copy_all, before, a_scales, index, copied, count] {
    copy_all(before);
    worker_->support.gather_rows({a_scales.data, 0, 1, 0, a_scales.dtype}, a_scales.elements(),
                                 {index, 0, 1, 0, DType::i32}, {}, 1, DType::f32, copied,
                                 {count, 1});
  };
  prepare();
  return [prepare, products = products_apart(groups, detail), copy_all, after] {
    prepare();
    products();
    copy_all(after);
  };
}

std::function<void()> SequenceBaseline::sparse_product(const OperationCall& call,
                                                       std::string& detail) {
  std::shared_ptr<SparseMatvec> best;
  double least_ns = 0;
  for (int algorithm = 0; algorithm < SparseMatvec::kNumAlgorithms; ++algorithm) {
    auto made = std::make_shared<SparseMatvec>(worker_->engine, call, algorithm);
    made->enqueue();
    worker_->synchronise();
    const double time_ns =
        worker_->timer.quick_median_ns({[made] { made->enqueue(); }}, kPartSamples);
    if (best && time_ns >= least_ns) continue;
    best = std::move(made);
    least_ns = time_ns;
  }
  detail = "cuSPARSE, " + best->describe();
  return [best] { best->enqueue(); };
}

void SequenceBaseline::add_kernel(const ReferenceKernelPlan& kernel) {
  const Plan plan = plan_of(kernel);
  for (const BufferPlan* buffer : plan.buffers()) {
    const bool known =
        plan_.find_buffer(buffer->name) != nullptr || results_.contains(buffer->name);
    if (!known) make_result(buffer->name, buffer->dtype, buffer->shape);
  }
  auto launcher =
      std::make_shared<Launcher>(worker_->driver, plan, read_file(kernel.cubin_path),
                                 [this](const std::string& name) { return operand(name).data; });
  steps_.push_back({fmt::format("kernel {}", kernel.launch.entry), kernel.source,
                    [this, launcher] { launcher->enqueue(worker_->stream); }});
}

void SequenceBaseline::enqueue() const {
  for (const Step& step : steps_) step.enqueue();
}

void SequenceBaseline::capture() {
  const Driver& driver = worker_->driver;
  CUgraph captured = nullptr;
  driver.cuStreamBeginCapture(worker_->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  try {
    enqueue();
  } catch (...) {
    static_cast<void>(driver.cuStreamEndCapture.result(worker_->stream, &captured));
    const Graph dropped(driver, captured);
    throw;
  }
  driver.cuStreamEndCapture(worker_->stream, &captured);
  const Graph graph(driver, captured);
  CUgraphExec instance = nullptr;
  driver.cuGraphInstantiate(&instance, graph.get(), 0);
  graph_ = GraphInstance(driver, instance);
  driver.cuGraphLaunch(graph_.get(), worker_->stream);
  worker_->synchronise();
}

void SequenceBaseline::check() {
  redraw_->draw_inputs(seed_);
  redraw_->poison();
  enqueue();
  worker_->synchronise();
  const CheckReport report = worker_->checker.check(buffers_, *zones_, [this] {
    redraw_->remake_inputs();
    refer();
  });
  for (const auto& input : report.damaged_inputs) worker_->inputs.restore(*input);
  if (report.damaged_reference || !report.damaged_inputs.empty()) worker_->references.clear();
  if (report.failure) throw *report.failure;
}

void SequenceBaseline::refer() {
  reference_ = worker_->references.get(plan_, inputs_);
  refer_to(*reference_, plan_, buffers_.outputs, rounding_, relative_);
}

std::vector<int> SequenceBaseline::ways(WorkerState&) {
  return has_graph_ ? std::vector{0, 1} : std::vector{0};
}

TimedWork SequenceBaseline::timed(int way) const {
  Work launch = [this] { enqueue(); };
  if (way == 1) {
    launch = [this] { worker_->driver.cuGraphLaunch(graph_.get(), worker_->stream); };
  }
  return {.launch = std::move(launch),
          .before = [this] { (*redraw_)(); },
          .between = [this] { redraw_->spoil_sometimes(); }};
}

std::string SequenceBaseline::time_parts() const {
  std::vector<std::string> parts;
  for (const Step& step : steps_) {
    const double time_ns =
        worker_->timer.quick_median_ns({step.enqueue, [this] { (*redraw_)(); }}, kPartSamples);
    parts.push_back(fmt::format("{} {:.4g} us{}", step.name, time_ns * 1e-3,
                                step.detail.empty() ? "" : " (" + step.detail + ")"));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace assay
