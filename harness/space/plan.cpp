#include "space/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/counters.h"
#include "base/find_named.h"
#include "space/launched.h"
#include "space/plan_parts.h"
#include "spec/entry.h"

namespace assay {
namespace {

ReferenceKernelPlan plan_own_kernel(const ReferenceKernelSpec& spec, const Config& sizes,
                                    const Plan& plan, const Evaluator& evaluator) {
  ReferenceKernelPlan kernel;
  kernel.source = spec.source.filename().string();
  for (const ReferenceKernelSpec::Arg& arg : spec.args) {
    if (arg.seed) {
      kernel.args.emplace_back(ScalarPlan{arg.name, arg.dtype, std::int64_t{0}, true});
      continue;
    }
    const ArgPlan* given = plan.find_arg(arg.name);
    if (given != nullptr && std::holds_alternative<ScalarPlan>(*given)) {
      kernel.args.push_back(*given);
      continue;
    }
    BufferPlan planned =
        plan_buffer({arg.dtype, arg.shape, arg.role, {}, arg.zeroed}, arg.name, evaluator);
    if (given != nullptr) {
      const auto& theirs = std::get<BufferPlan>(*given);
      planned.shape = theirs.shape;
      planned.zeroed = theirs.zeroed > 0 ? theirs.zeroed : arg.zeroed ? theirs.elements() : 0;
      if (is_output(arg.role)) {
        planned.copy_of = theirs.copy_of;
        planned.checked = theirs.checked;
      }
    }
    kernel.args.push_back(std::move(planned));
  }
  kernel.launch = plan_launch({{}, {}, spec.grid, spec.block, {}, spec.smem_bytes},
                              instantiate(spec.entry, sizes), evaluator);
  kernel.launch.args.resize(kernel.args.size());
  std::iota(kernel.launch.args.begin(), kernel.launch.args.end(), std::size_t{0});
  if (spec.sum_length) {
    kernel.sum_length =
        evaluator.eval(*spec.sum_length, {1, kMostInt64}, "{} sum_length", spec.entry);
  }
  if (!spec.repeat) return kernel;
  const auto place_of = [&](const std::string& name) {
    return static_cast<std::size_t>(find_named(spec.args, name) - spec.args.data());
  };
  const std::int64_t passes =
      evaluator.eval(*spec.repeat, {1, kMostLaunches}, "{} repeat", spec.entry);
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    auto& places = kernel.passes.emplace_back();
    for (const auto& names : spec.turns)
      places.push_back(place_of(taken_by_pass(names, pass, passes)));
  }
  return kernel;
}

std::vector<ReferencePlan> plan_steps(const std::vector<ReferenceSpec>& specs, const Config& sizes,
                                      const Plan& plan, const Evaluator& evaluator) {
  std::vector<ReferencePlan> steps;
  for (const ReferenceSpec& spec : specs) {
    steps.push_back({spec.operation, spec.operands, spec.options, {}, spec.round});
    for (const auto& [option, value] : spec.real_options) {
      const double number = evaluator.eval_real(value, "{}", option);
      if (number <= 0) {
        evaluator.fail("{} of {} is {}, expected a positive number", option, spec.operation,
                       number);
      }
      steps.back().options[option] = number;
    }
    ReferencePlan& step = steps.back();
    if (spec.kernel) step.kernel = plan_own_kernel(*spec.kernel, sizes, plan, evaluator);
    if (!spec.file) continue;
    step.file = spec.file->path.string();
    const BufferPlan& out = *plan.find_buffer(spec.operands.at("out"));
    check_file(out, step.file, spec.file->bytes, spec.file->where, evaluator);
    if (spec.sum_length) {
      step.sum_length = evaluator.eval(*spec.sum_length, {1, kMostInt64}, "sum_length");
    }
  }
  return steps;
}

void add_names(const Plan& plan, std::size_t place, std::set<std::string>& names) {
  const ArgPlan& arg = plan.args[place];
  if (const auto* buffer = std::get_if<BufferPlan>(&arg)) {
    names.insert(buffer->name);
    if (!buffer->copy_of.empty()) names.insert(buffer->copy_of);
  } else if (const auto* map = std::get_if<TensorMapPlan>(&arg)) {
    names.insert(map->of);
  } else if (const auto* packed = std::get_if<StructPlan>(&arg)) {
    for (const std::size_t member : packed->members) add_names(plan, member, names);
  }
}

template <typename Counts>
std::int64_t bytes_of(const Plan& plan, const Counts& counts) {
  std::int64_t sum = 0;
  for (const BufferPlan* buffer : plan.buffers()) {
    if (counts(*buffer)) sum += buffer->bytes();
  }
  return sum;
}

std::int64_t cdiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::int64_t Plan::input_bytes() const {
  return bytes_of(*this, [](const BufferPlan& buffer) { return is_filled(buffer.role); });
}

std::int64_t Plan::prepared_bytes() const {
  return bytes_of(*this, [](const BufferPlan& buffer) { return buffer.role == Role::prepared; });
}

std::int64_t Plan::dynamic_smem_bytes() const {
  std::int64_t most = 0;
  for (const LaunchPlan& launch : launches) most = std::max(most, launch.smem_bytes);
  return most;
}

std::vector<ReferenceKernelPlan*> own_kernels(Plan& plan) {
  std::vector<ReferenceKernelPlan*> kernels;
  for (ReferencePlan& step : plan.reference) {
    if (step.kernel) kernels.push_back(&*step.kernel);
  }
  for (ReferenceKernelPlan& fill : plan.fills) kernels.push_back(&fill);
  return kernels;
}

Plan make_plan(const KernelSpec& kernel, const Problem& problem, const Config& config,
               const DeviceInfo& device) {
  Evaluator evaluator(kernel, problem, config, device);
  Plan plan = make_launch_plan(kernel, problem, config, evaluator);
  for (std::size_t i = 0; i < kernel.args.size(); ++i) {
    const auto* buffer = std::get_if<BufferSpec>(&kernel.args[i].form);
    if (buffer) plan_fill(*buffer, std::get<BufferPlan>(plan.args[i]), evaluator);
  }
  check_derivations(plan, evaluator);
  const Config sizes = sizes_of(kernel, problem);
  plan.reference = plan_steps(kernel.reference, sizes, plan, evaluator);
  for (const ArgSpec& arg : kernel.args) {
    const auto* buffer = std::get_if<BufferSpec>(&arg.form);
    if (!buffer || !buffer->fill.kernel) continue;
    plan.fills.push_back(plan_own_kernel(*buffer->fill.kernel, sizes, plan, evaluator));
  }
  plan.relative_tolerance = kernel.tolerance.relative;
  plan.element_tolerance = kernel.tolerance.element;
  plan.absolute_tolerance = kernel.tolerance.absolute;
  plan.deterministic = kernel.deterministic;
  plan.flops = evaluator.eval(kernel.flops, {0, kMostInt64}, "work.flops");
  plan.bytes = evaluator.eval(kernel.bytes, {0, kMostInt64}, "work.bytes");
  return plan;
}

BaselinePlan make_baseline_plan(const KernelSpec& kernel, const BaselineSpec& baseline,
                                const Plan& plan, const DeviceInfo& device) {
  const Evaluator evaluator(kernel, plan.problem, plan.config, device);
  return {baseline.name,
          plan_steps(baseline.steps, sizes_of(kernel, plan.problem), plan, evaluator),
          baseline.relative};
}

std::int64_t memory_bytes(const Plan& plan) {
  std::set<std::string> names;
  for (const LaunchPlan& launch : plan.launches) {
    for (const std::size_t place : launch.args) add_names(plan, place, names);
  }
  return bytes_of(plan, [&](const BufferPlan& buffer) {
    return names.contains(buffer.name) || !buffer.symbol.empty();
  });
}

std::int64_t ScaleLayout::batch() const { return element_count(shape) / (rows() * columns()); }

std::int64_t ScaleLayout::rows() const { return shape[shape.size() - 2]; }
std::int64_t ScaleLayout::columns() const { return shape.back(); }
std::int64_t ScaleLayout::blocks_down() const { return cdiv(rows(), block_rows); }
std::int64_t ScaleLayout::blocks_across() const { return cdiv(columns(), block_columns); }

std::vector<std::int64_t> ScaleLayout::least() const {
  std::vector<std::int64_t> least(shape.begin(), shape.end() - 2);
  least.push_back(transpose ? blocks_across() : blocks_down());
  least.push_back(transpose ? blocks_down() : blocks_across());
  return least;
}

bool ScaleLayout::fits(std::vector<std::int64_t> scales) const {
  if (scales.empty() || scales.back() < least().back()) return false;
  scales.back() = least().back();
  return scales == least();
}

std::string ScaleLayout::text() const {
  return fmt::format("[{}], or longer rows", fmt::join(least(), ","));
}

ScaleLayout scale_layout(const BufferPlan& values, bool transpose) {
  return {values.shape, static_cast<std::int64_t>(values.arguments.at("block_rows")),
          static_cast<std::int64_t>(values.arguments.at("block_columns")), transpose};
}

NamedFigures figures_of(const Objective& objective, const KernelSpec& kernel,
                        const TrialRecord& trial, const DeviceInfo& device) {
  NamedFigures figures;
  if (objective.is_word()) return figures;
  const CompileReport& compile = trial.compile;
  const Evaluator evaluator(kernel, trial.problem, trial.config, device);
  const auto figure = [&](const std::string& name) -> Number {
    if (name == "flops") return evaluator.eval(kernel.flops, kAnyInteger, "{}", name);
    if (name == "bytes") return evaluator.eval(kernel.bytes, kAnyInteger, "{}", name);
    if (name == "registers") return std::int64_t{compile.registers};
    if (name == "spill_bytes") return std::int64_t{compile.spill_bytes};
    if (name == "smem_bytes") {
      return compile.static_smem_bytes +
             make_plan(kernel, trial.problem, trial.config, device).dynamic_smem_bytes();
    }
    if (name == "memory_bytes") {
      return memory_bytes(make_plan(kernel, trial.problem, trial.config, device));
    }
    return to_number(evaluator.eval_real({Expr::parse_real(name, kernel.symbols), {}}, "{}", name));
  };
  const std::vector<std::string>& measured = measured_names();
  for (const std::string& name : objective.names()) {
    if (std::ranges::find(measured, name) != measured.end()) continue;
    if (is_counter(name)) {
      for (const Measurement& counted : trial.measurements) {
        if (counted.name == name) figures.emplace_back(name, counted.value);
      }
      continue;
    }
    try {
      figures.emplace_back(name, figure(name));
    } catch (const PlanError&) {
    }
  }
  return figures;
}

}  // namespace assay
