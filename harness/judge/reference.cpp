#include "judge/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "judge/spot_check.h"
#include "support/device_word.h"

namespace assay {
namespace {

std::string key_of(const Plan& plan, const InputMap& inputs) {
  std::string key;
  for (const ReferencePlan& step : plan.reference) {
    key += step.operation;
    for (const auto& [role, name] : step.operands) {
      key += fmt::format(" {}={}", role, name);
      if (const auto input = inputs.find(name); input != inputs.end()) {
        key += fmt::format("({})", input->second->key);
      } else if (const BufferPlan* buffer = plan.find_buffer(name)) {
        key += fmt::format("[{}]", fmt::join(buffer->shape, ","));
      }
    }
    for (const auto& [name, value] : step.options) {
      std::visit([&](auto option) { key += fmt::format(" {}={}", name, option); }, value);
    }
    key += ';';
  }
  return key;
}

}  // namespace

std::string unchecked_note(const Reference& reference) {
  if (reference.unchecked.empty()) return "";
  return fmt::format("the reference itself was not checked in fp64: there is no rule for {}",
                     fmt::join(reference.unchecked, ", "));
}

OperationCall reference_call(const Plan& plan, std::size_t index, const InputMap& inputs,
                             const Reference& made) {
  const ReferencePlan& step = plan.reference[index];
  OperationCall call;
  call.options = step.options;
  for (const OperandRow& row : row_of(operations(), "operation", step.operation).inputs) {
    const std::string role(row.name);
    const auto named = step.operands.find(role);
    if (named == step.operands.end()) {
      throw oracle_failure(fmt::format("{}: the reference names no {}", step.operation, role));
    }
    const std::string& name = named->second;
    if (const auto input = inputs.find(name); input != inputs.end()) {
      const Input& found = *input->second;
      call.operands[role] = {found.buffer.data, found.plan.dtype, found.plan.shape};
    } else if (const auto earlier = made.outputs.find(name); earlier != made.outputs.end()) {
      call.operands[role] = earlier->second.operand;
    } else {
      throw oracle_failure(
          fmt::format("{}: operand {} is {}, neither an input nor made by an earlier step",
                      step.operation, role, name));
    }
  }
  return call;
}

References::References(const Driver& driver, CUstream stream, const SupportKernels& support,
                       OperationEngine& engine)
    : driver_(&driver), stream_(stream), support_(&support), engine_(&engine) {}

std::shared_ptr<const Reference> References::get(const Plan& plan, const InputMap& inputs) {
  std::string key = key_of(plan, inputs);
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;

  auto reference = std::make_shared<Reference>();
  for (std::size_t i = 0; i < plan.reference.size(); ++i) add_step(plan, i, inputs, *reference);
  kept_.emplace(std::move(key), reference);
  return reference;
}

void References::add_step(const Plan& plan, std::size_t index, const InputMap& inputs,
                          Reference& reference) {
  const ReferencePlan& step = plan.reference[index];
  const OperationRow& row = row_of(operations(), "operation", step.operation);
  const Operation& operation = operation_of(row.id);
  OperationCall call = reference_call(plan, index, inputs, reference);
  std::int64_t earlier_length = 0;
  for (const OperandRow& input : row.inputs) {
    const auto earlier = reference.outputs.find(step.operands.at(std::string(input.name)));
    if (earlier != reference.outputs.end()) earlier_length += earlier->second.sum_length;
  }
  std::vector<OutputShape> made = operation.outputs(call);
  for (std::size_t i = 0; i < row.outputs.size(); ++i) {
    const std::string role(row.outputs[i].name);
    const std::string& name = step.operands.at(role);
    const BufferPlan* buffer = plan.find_buffer(name);
    if (buffer != nullptr && buffer->shape != made[i].extents) {
      throw oracle_failure(fmt::format("{}: its {} is [{}], but {} is [{}]", step.operation, role,
                                       fmt::join(made[i].extents, ","), name,
                                       fmt::join(buffer->shape, ",")));
    }
    ReferenceOutput& output = reference.outputs[name];
    output.sum_length = made[i].sum_length + earlier_length;
    output.operand = {0, DType::f32, made[i].extents};
    output.memory = allocate(*driver_, output.bytes());
    output.operand.data = output.memory.get();
    call.operands[role] = output.operand;
  }
  operation.compute(call, *engine_);
  const bool checked = spot_check(
      row, operation, call, made,
      [this](const Operand& operand, std::int64_t first, std::int64_t step_elements,
             std::int64_t count) { return engine_->read(operand, first, step_elements, count); });
  if (!checked) reference.unchecked.insert(step.operation);

  for (const OperandRow& row_output : row.outputs) {
    ReferenceOutput& output = reference.outputs[step.operands.at(std::string(row_output.name))];
    const std::int64_t elements = output.operand.elements();
    DeviceWord<double> squares(*driver_, stream_);
    support_->sum_squares(output.operand.data, elements, squares.pointer());
    output.rms = std::sqrt(squares.read() / static_cast<double>(elements));
    DeviceWord<std::uint64_t> hash(*driver_, stream_);
    support_->hash(output.operand.data, output.bytes(), hash.pointer());
    output.hash = hash.read();
  }
}

}  // namespace assay
