#include "judge/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "judge/tolerance.h"
#include "support/device_word.h"
#include "support/failure.h"

namespace assay {
namespace {

// How many elements of the reference the host recomputes in fp64: the first, the last, and others
// at random. A wrong layout or leading dimension makes nearly all elements wrong.
constexpr int kNumSamples = 64;

Failure refused(const std::string& message) { return {Status::runtime, "oracle", message}; }

const BufferPlan* find_buffer(const Plan& plan, const std::string& name) {
  for (const ArgPlan& arg : plan.args) {
    const auto* buffer = std::get_if<BufferPlan>(&arg);
    if (buffer != nullptr && buffer->name == name) return buffer;
  }
  return nullptr;
}

std::string key_of(const Plan& plan, const InputMap& inputs) {
  std::string key;
  for (const ReferencePlan& step : plan.reference) {
    key += step.operation;
    for (const auto& [role, name] : step.operands) {
      key += fmt::format(" {}={}", role, name);
      if (const auto input = inputs.find(name); input != inputs.end()) {
        key += fmt::format("({})", input->second->key);
      } else if (const BufferPlan* buffer = find_buffer(plan, name)) {
        key += fmt::format("[{}]", fmt::join(buffer->shape, ","));
      }
    }
    for (const auto& [name, value] : step.options) key += fmt::format(" {}={}", name, value);
    key += ';';
  }
  return key;
}

std::string out_name(const ReferencePlan& step) {
  const auto found = step.operands.find("out");
  if (found == step.operands.end()) {
    throw refused(fmt::format("{}: the reference names no out", step.operation));
  }
  return found->second;
}

}  // namespace

OperationCall reference_call(const Plan& plan, std::size_t index, const InputMap& inputs,
                             const Reference& made) {
  const ReferencePlan& step = plan.reference[index];
  OperationCall call;
  call.options = step.options;
  for (const auto& [role, name] : step.operands) {
    if (role == "out") continue;
    if (const auto input = inputs.find(name); input != inputs.end()) {
      const Input& found = *input->second;
      call.operands[role] = {found.buffer.data, found.plan.dtype, found.plan.shape};
    } else if (const auto earlier = made.outputs.find(name); earlier != made.outputs.end()) {
      call.operands[role] = earlier->second.operand;
    } else {
      throw refused(
          fmt::format("{}: operand {} is {}, neither an input nor made by an earlier step",
                      step.operation, role, name));
    }
  }
  const std::string out = out_name(step);
  const BufferPlan* buffer = find_buffer(plan, out);
  if (buffer == nullptr)
    throw refused(fmt::format("{}: out is {}, no buffer", step.operation, out));
  call.out = {0, DType::f32, buffer->shape};
  return call;
}

References::References(const Driver& driver, CUstream stream, const SupportKernels& support,
                       OperationEngine& engine)
    : driver_(&driver), stream_(stream), support_(&support), engine_(&engine) {}

std::shared_ptr<const Reference> References::get(const Plan& plan, const InputMap& inputs) {
  std::string key = key_of(plan, inputs);
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;

  auto reference = std::make_shared<Reference>();
  for (std::size_t i = 0; i < plan.reference.size(); ++i) {
    const ReferencePlan& step = plan.reference[i];
    const Operation& operation = find_operation(step.operation);
    OperationCall call = reference_call(plan, i, inputs, *reference);
    ReferenceOutput output;
    output.sum_length = operation.sum_length(call);
    for (const auto& [role, name] : step.operands) {
      const auto earlier = reference->outputs.find(name);
      if (role != "out" && earlier != reference->outputs.end()) {
        output.sum_length += earlier->second.sum_length;
      }
    }
    const auto bytes = static_cast<std::size_t>(call.out.elements()) * sizeof(float);
    output.memory = allocate(*driver_, bytes);
    call.out.data = output.memory.get();
    output.operand = call.out;
    operation.compute(call, *engine_);
    verify(operation, call);

    DeviceWord<double> squares(*driver_, stream_);
    support_->sum_squares(call.out.data, call.out.elements(), squares.pointer());
    output.rms = std::sqrt(squares.read() / static_cast<double>(call.out.elements()));
    DeviceWord<std::uint64_t> hash(*driver_, stream_);
    support_->hash(call.out.data, bytes, hash.pointer());
    output.hash = hash.read();
    reference->outputs[out_name(step)] = std::move(output);
  }
  kept_.emplace(std::move(key), reference);
  return reference;
}

void References::verify(const Operation& operation, const OperationCall& call) {
  const std::int64_t elements = call.out.elements();
  const std::int64_t sum_length = operation.sum_length(call);
  std::set<std::int64_t> indices{0, elements - 1};
  for (std::uint64_t i = 0; i < kNumSamples; ++i) {
    const std::uint64_t random = generator_key(i, operation.name);
    indices.insert(static_cast<std::int64_t>(random % static_cast<std::uint64_t>(elements)));
  }
  for (const std::int64_t index : indices) {
    const ExactElement exact = operation.exact(call, index, *engine_);
    const double found = engine_->read(call.out, index, 1, 1)[0];
    const double bound = accumulation_bound(sum_length, exact.value, exact.scale);
    if (!(std::abs(found - exact.value) <= bound)) {
      throw refused(fmt::format(
          "the reference itself is wrong: {} made {} at element {}, the host {} (bound {:.3g})",
          operation.name, found, index, exact.value, bound));
    }
  }
}

}  // namespace assay
