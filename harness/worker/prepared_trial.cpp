#include "worker/prepared_trial.h"

#include <fmt/format.h>

#include <cmath>

#include "base/file.h"
#include "support/device_word.h"

namespace assay {
namespace {

// One sample in so many is checked: a check takes about as long as a short sample. A kernel that
// cheats over numbers in all timed launches gets through 64 rounds of a re-rank with a probability
// of (1 - 3/4 * 1/4)^64, once in half a million times.
constexpr std::uint64_t kSamplesPerCheck = 4;
// Outputs are poisoned ahead of one sample in so many.
constexpr std::uint64_t kDrawsPerPoison = 4;

const GuardedBuffer* find_placed(const std::vector<GuardedBuffer>& placed,
                                 const std::string& name) {
  for (const GuardedBuffer& buffer : placed) {
    if (buffer.name == name) return &buffer;
  }
  return nullptr;
}

std::string read_cubin(const std::filesystem::path& path) {
  try {
    return read_file(path);
  } catch (const UsageError& error) {  // someone emptied the cache while the sweep ran
    throw Failure(Status::runtime, "launch", error.what());
  }
}

Launcher make_launcher(WorkerState& worker, const TrialRequest& request) {
  const InputMap inputs = make_inputs(worker, request.plan, request.seed);
  const std::vector<GuardedBuffer> placed = lay_out(request.plan, worker.arena.begin());
  return Launcher(
      worker.driver, request.plan, read_cubin(request.cubin_path), [&](const std::string& name) {
        const auto input = inputs.find(name);
        return input != inputs.end() ? input->second->buffer.data : find_placed(placed, name)->data;
      });
}

CheckedOutput checked_output(const Plan& plan, const BufferPlan& buffer,
                             const GuardedBuffer& placed,
                             const std::shared_ptr<const Reference>& reference) {
  const auto found = reference->outputs.find(buffer.name);
  if (found == reference->outputs.end()) {
    throw Failure(
        Status::runtime, "oracle",
        fmt::format("output {} has no reference, so nothing could say whether it is right",
                    buffer.name));
  }
  CheckedOutput output;
  output.buffer = placed;
  output.dtype = buffer.dtype;
  output.shape = buffer.shape;
  output.keep_alive = reference;
  output.reference = &found->second;
  output.tolerance = derive_tolerance(buffer.dtype, found->second.arithmetic, found->second.rms,
                                      plan.relative_tolerance, plan.element_tolerance);
  return output;
}

/// A limit that accepts a copy of an input, which needs no kernel, is none. A copy that is as near
/// as rounding is right.
void refuse_copies(WorkerState& worker, const InputMap& inputs, const CheckedOutput& output) {
  const Tolerance& tolerance = output.tolerance;
  const double rounding = 2 * unit_roundoff(output.dtype) + std::ldexp(1.0, -14);
  if (!is_floating(output.dtype) || tolerance.relative_limit <= rounding) return;
  const Operand& reference = output.reference->operand;
  for (const auto& [name, input] : inputs) {
    const BufferPlan& plan = input->plan;
    if (!is_floating(plan.dtype) || plan.elements() != reference.elements()) continue;
    DeviceWord<Comparison> word(worker.driver, worker.stream);
    worker.support.compare(plan.dtype, input->buffer.data, reference.dtype, reference.data,
                           plan.elements(), tolerance.element_factor, tolerance.element_floor,
                           word.pointer());
    const Comparison found = word.read();
    const double error = relative_error(found);
    if (found.bad > 0 || error > tolerance.relative_limit || error <= rounding) continue;
    throw Failure(
        Status::runtime, "oracle",
        fmt::format("the tolerance accepts a copy of {} for {}, which is off by {:.2g}; state one "
                    "that does not, such as tolerance: {{relative: {:.1g}}}, or other inputs",
                    name, output.buffer.name, error, error / 4));
  }
}

}  // namespace

std::vector<GuardedBuffer> lay_out(const Plan& plan, CUdeviceptr begin) {
  std::vector<GuardedBuffer> placed;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (buffer->role == Role::in) continue;
    placed.push_back(place_buffer(buffer->name, static_cast<std::size_t>(buffer->bytes()), begin));
    begin = placed.back().end;
  }
  return placed;
}

InputMap make_inputs(WorkerState& worker, const Plan& plan, std::uint64_t seed) {
  InputMap inputs;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (buffer->role != Role::in) continue;
    inputs[buffer->name] = worker.inputs.get(*buffer, seed);
  }
  return inputs;
}

PreparedTrial::PreparedTrial(WorkerState& worker, const TrialRequest& request)
    : worker_(&worker),
      deterministic_(request.plan.deterministic),
      arena_begin_(worker.arena.begin()),
      arena_bytes_(arena_bytes(request.plan)),
      launcher_(make_launcher(worker, request)) {
  const Plan& plan = request.plan;
  const InputMap inputs = make_inputs(worker, plan, request.seed);
  const auto reference = worker.references.get(plan, inputs);
  reference_note_ = unchecked_note(*reference);
  reference_text_ = reference->text;
  const std::vector<GuardedBuffer> placed = lay_out(plan, worker.arena.begin());
  for (const auto& [name, input] : inputs) buffers_.inputs.push_back(input);
  for (const BufferPlan* buffer : plan.buffers()) {
    if (buffer->role == Role::in) continue;
    const GuardedBuffer& place = *find_placed(placed, buffer->name);
    if (buffer->role == Role::scratch) {
      buffers_.scratch.push_back(place);
    } else {
      buffers_.outputs.push_back(checked_output(plan, *buffer, place, reference));
      refuse_copies(worker, inputs, buffers_.outputs.back());
    }
  }
}

std::size_t PreparedTrial::arena_bytes(const Plan& plan) {
  const std::vector<GuardedBuffer> placed = lay_out(plan, 0);
  return placed.empty() ? 0 : placed.back().end;
}

Validation PreparedTrial::check() {
  return check_after([] {});
}

Validation PreparedTrial::check_cold() {
  return check_after([this] { worker_->timer.flush(); });
}

Validation PreparedTrial::check_over_numbers() {
  return check_after([this] {
    draw_numbers();
    worker_->timer.flush();
  });
}

Validation PreparedTrial::check_after(const Work& before) {
  worker_->support.poison(arena_begin_, arena_bytes_);
  before();
  enqueue();
  return judge();
}

TimedWork PreparedTrial::timed() {
  return {[this] { enqueue(); }, [this] { redraw(); },
          [this] {
            if (worker_->secret() % kSamplesPerCheck != 0) return;
            try {
              judge();
            } catch (const Failure& failure) {
              Outcome outcome = failure.outcome();
              outcome.message += "; this was a timed launch";
              throw Failure(std::move(outcome));
            }
          }};
}

void PreparedTrial::redraw() {
  worker_->support.poison(arena_begin_, arena_bytes_);
  if (worker_->secret() % kDrawsPerPoison != 0) draw_numbers();
}

/// Leaves the poison in the guard zones alone.
void PreparedTrial::draw_numbers() {
  const auto draw = [&](const GuardedBuffer& buffer, DType dtype, std::size_t elements,
                        double rms) {
    const double most = rms * std::sqrt(3.0);  // a uniform number's standard deviation is rms
    worker_->support.fill(Generator::uniform, dtype, buffer.data,
                          static_cast<std::int64_t>(elements), worker_->secret(), -most, most);
  };
  for (const CheckedOutput& output : buffers_.outputs) {
    draw(output.buffer, output.dtype, output.buffer.bytes / size_bytes(output.dtype),
         output.reference->rms);
  }
  for (const GuardedBuffer& buffer : buffers_.scratch) {
    draw(buffer, DType::f32, buffer.bytes / sizeof(float), 1);
  }
}

Validation PreparedTrial::judge() {
  CheckReport report = worker_->checker.check(buffers_);
  if (report.validation) report.validation->reference = reference_text_;
  for (const auto& input : report.damaged_inputs) worker_->inputs.restore(*input);
  if (report.damaged_reference) worker_->references.clear();
  if (report.failure) {
    Outcome outcome = report.failure->outcome();
    outcome.validation = report.validation;
    if (!reference_note_.empty()) outcome.message += "; " + reference_note_;
    throw Failure(std::move(outcome));
  }
  if (!first_hashes_) {
    first_hashes_ = std::move(report.output_hashes);
  } else if (deterministic_ && report.output_hashes != *first_hashes_) {
    throw Failure(Status::correctness, "nondeterministic",
                  "two launches on the same inputs gave outputs that differ in some bit");
  }
  return report.validation.value_or(Validation{});
}

}  // namespace assay
