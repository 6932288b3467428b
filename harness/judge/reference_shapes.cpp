#include "judge/reference_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/error.h"
#include "judge/operations/gemm.h"
#include "space/space.h"

namespace assay {
namespace {

/// Tensors without memory.
using Shapes = std::map<std::string, Operand>;

void add_results(const Plan& plan, const ReferencePlan& step, Shapes& shapes) {
  const OperationRow& row = row_of(operations(), "operation", step.operation);
  OperationCall call;
  call.options = step.options;
  for (const OperandRow& input : row.inputs) {
    const auto named = step.operands.find(std::string(input.name));
    if (named == step.operands.end()) continue;
    const auto found = shapes.find(named->second);
    if (found != shapes.end()) call.operands[named->first] = found->second;
  }
  const std::vector<OutputShape> made = outputs_of(plan, step, call);
  for (std::size_t i = 0; i < row.outputs.size(); ++i) {
    shapes[step.operands.at(std::string(row.outputs[i].name))] = {0, DType::f32, made[i].extents};
  }
}

}  // namespace

std::vector<OutputShape> outputs_of(const Plan& plan, const ReferencePlan& step,
                                    OperationCall& call) {
  const OperationRow& row = row_of(operations(), "operation", step.operation);
  for (const OperandRow& output : row.outputs) {
    const std::string role(output.name);
    const BufferPlan* buffer = plan.find_buffer(step.operands.at(role));
    if (buffer != nullptr) call.declared_shapes[role] = buffer->shape;
  }
  std::vector<OutputShape> made = operation_of(row.id).outputs(call);
  for (std::size_t i = 0; i < row.outputs.size(); ++i) {
    const std::string role(row.outputs[i].name);
    const std::string& name = step.operands.at(role);
    const BufferPlan* buffer = plan.find_buffer(name);
    if (buffer != nullptr && buffer->shape != made[i].extents) {
      throw oracle_failure("{}: its {} is [{}], but {} is [{}]", step.operation, role,
                           fmt::join(made[i].extents, ","), name, fmt::join(buffer->shape, ","));
    }
  }
  return made;
}

std::optional<ShapeMistake> find_shape_mistake(const Plan& plan) {
  Shapes shapes;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (is_filled(buffer->role)) shapes[buffer->name] = {0, buffer->dtype, buffer->shape};
  }
  for (std::size_t i = 0; i < plan.reference.size(); ++i) {
    const ReferencePlan& step = plan.reference[i];
    if (!step.file.empty()) continue;
    if (step.kernel) {
      for (const BufferPlan* buffer : step.kernel->buffers()) {
        if (is_output(buffer->role)) shapes[buffer->name] = {0, buffer->dtype, buffer->shape};
      }
      continue;
    }
    try {
      add_results(plan, step, shapes);
    } catch (const Failure& failure) {
      return ShapeMistake{i, failure.outcome().message};
    }
  }
  return std::nullopt;
}

std::vector<std::int64_t> shape_made(const OperationRow& row, const OperationCall& call) {
  return row.id == OperationId::gemm ? gemm_shape(call).out(call.operand("a").shape.size())
                                     : operation_of(row.id).outputs(call).front().extents;
}

std::int64_t memory_bytes(const Plan& plan, const BaselinePlan& baseline) {
  Shapes shapes;
  for (const BufferPlan* buffer : plan.buffers()) {
    shapes[buffer->name] = {0, buffer->dtype, buffer->shape};
  }
  std::set<std::string> used;
  for (const ReferencePlan& step : baseline.steps) {
    if (step.kernel) {
      for (const BufferPlan* buffer : step.kernel->buffers()) {
        used.insert(buffer->name);
        shapes.insert({buffer->name, {0, buffer->dtype, buffer->shape}});
      }
      continue;
    }
    const OperationRow& row = row_of(baseline_operations(), "operation", step.operation);
    OperationCall call;
    call.options = step.options;
    for (const auto& [role, name] : step.operands) {
      used.insert(name);
      if (const auto known = shapes.find(name); known != shapes.end()) {
        call.operands[role] = known->second;
        call.declared_shapes[role] = known->second.shape;
      }
    }
    const std::string& out = step.operands.at(std::string(row.outputs.front().name));
    if (shapes.contains(out)) continue;
    shapes[out] = {0, step.round.value_or(DType::f32), shape_made(row, call)};
  }
  std::int64_t sum = 0;
  for (const std::string& name : used) {
    const Operand& operand = shapes.at(name);
    sum += size_bytes(operand.dtype, operand.elements());
  }
  return sum;
}

void check_reference_shapes(const KernelSpec& kernel, const Problem& problem,
                            const DeviceInfo& device) {
  constexpr std::uint64_t kMostSteps = 100'000;
  std::optional<ShapeMistake> mistake;
  try {
    const Space space(kernel, problem, device);
    space.for_each(
        [&](const std::vector<int>& point) {
          mistake = find_shape_mistake(make_plan(kernel, problem, space.config(point), device));
          return false;
        },
        kMostSteps);
  } catch (const UsageError&) {
    return;  // none is found soon
  } catch (const PlanError&) {
    return;  // a trial says so
  }
  if (!mistake) return;
  throw SpecError(kernel.reference[mistake->step].where,
                  fmt::format("{}; the problem is {}", mistake->message, to_text(problem)));
}

void check_reference_shapes(const SweepSpec& sweep, const DeviceInfo& device) {
  for (const KernelSpec& kernel : sweep.kernels) {
    for (const Problem& problem : sweep.problems) check_reference_shapes(kernel, problem, device);
  }
}

}  // namespace assay
