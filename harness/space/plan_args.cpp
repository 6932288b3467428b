#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "space/plan_parts.h"

namespace assay {
namespace {

constexpr std::int64_t kMostBoxSide = 256;  // of a tensor map

const Config kNoConfig;

TensorMapPlan plan_tensor_map(const TensorMapSpec& spec, const std::string& name,
                              const Evaluator& evaluator) {
  TensorMapPlan plan{name, spec.of, {}, spec.swizzle_bytes};
  if (spec.when && evaluator.eval(*spec.when, kAnyInteger, "when of {}", name) == 0) return plan;
  for (std::size_t i = 0; i < spec.box.size(); ++i) {
    plan.box.push_back(
        evaluator.eval(spec.box[i], {1, kMostBoxSide}, "box side {} of {}", i, name));
  }
  return plan;
}

}  // namespace

std::string place(const Location& where) {
  if (!where.source) return "";
  return fmt::format("{}:{}:{}: ", where.source->path.generic_string(), where.line, where.column);
}

Evaluator::Evaluator(const KernelSpec& kernel, const Problem& problem, const Config& config,
                     const DeviceInfo& device)
    : kernel_(kernel), config_(config), bindings_(kernel, problem, device) {
  const std::size_t num_sizes = kernel.dims.size() + kernel.traits.size();
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const std::string& name = kernel.params[i].name;
    // A configuration mostly has the order of the contract.
    auto given = config.begin() + static_cast<std::ptrdiff_t>(std::min(i, config.size()));
    if (given == config.end() || given->first != name) {
      given = std::ranges::find_if(config, [&](const auto& entry) { return entry.first == name; });
    }
    if (given == config.end()) {
      throw UsageError("kernel {} needs a value for parameter {}, found none in {}", kernel.name,
                       name, to_text(config));
    }
    bindings_.set(slot_of(kernel.symbols, num_sizes + i, name), slot_value(kernel, given->second));
  }
  if (config.size() != kernel.params.size()) {
    throw UsageError("kernel {} has {} parameters, found {} in {}", kernel.name,
                     kernel.params.size(), config.size(), to_text(config));
  }
  const std::size_t first_let = kernel.symbols.size() - kernel.lets.size();
  for (std::size_t i = 0; i < kernel.lets.size(); ++i) {
    const LetSpec& let = kernel.lets[i];
    bindings_.set_let(slot_of(kernel.symbols, first_let + i, let.name), let.value.expr);
  }
}

Evaluator::Evaluator(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device)
    : kernel_(kernel), config_(kNoConfig), bindings_(kernel, problem, device) {
  const std::size_t num_sizes = kernel.dims.size() + kernel.traits.size();
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    bindings_.leave_open(slot_of(kernel.symbols, num_sizes + i, kernel.params[i].name));
  }
  const std::size_t first_let = kernel.symbols.size() - kernel.lets.size();
  for (std::size_t i = 0; i < kernel.lets.size(); ++i) {
    bindings_.leave_open(slot_of(kernel.symbols, first_let + i, kernel.lets[i].name));
  }
}

double Evaluator::eval_real_called(const ExprSpec& spec, fmt::string_view what,
                                   fmt::format_args args) const {
  try {
    return bindings_.eval_real(spec.expr);
  } catch (const EvalError& error) {
    fail("{}: {}", fmt::vformat(what, args), error.what());
  }
}

const ExprSpec* Evaluator::broken_constraint() const {
  for (const ExprSpec& constraint : kernel_.constraints) {
    try {
      if (bindings_.eval(constraint.expr) == 0) return &constraint;
    } catch (const EvalError&) {
      return &constraint;
    }
  }
  return nullptr;
}

std::int64_t Evaluator::eval_called(const ExprSpec& spec, Range allowed, fmt::string_view what,
                                    fmt::format_args args) const {
  std::int64_t value = 0;
  try {
    value = bindings_.eval(spec.expr);
  } catch (const EvalError& error) {
    fail("{}: {}", fmt::vformat(what, args), error.what());
  }
  if (value < allowed.low || value > allowed.high) {
    fail("{} \"{}\" is {}, allowed are {} to {}", fmt::vformat(what, args), spec.expr.text(), value,
         allowed.low, allowed.high);
  }
  return value;
}

void Evaluator::fail(const std::string& message) const {
  const std::string with = config_.empty() ? "" : " with " + to_text(config_);
  throw PlanError("{}; {}{}", message, kernel_.name, with);
}

/// Refuses what no GPU takes as a texture.
void check_texture(const BufferPlan& buffer, const Evaluator& evaluator) {
  constexpr std::int64_t kPitchBytes = 32;  // rows of a texture begin at multiples of it
  const TextureSpec& texture = *buffer.texture;
  if (texture.channels > 1 && buffer.shape.back() != texture.channels) {
    evaluator.fail("{} has texels of {} channels, but its last dimension is {}", buffer.name,
                   texture.channels, buffer.shape.back());
  }
  const bool is_flat = buffer.shape.size() == (texture.channels > 1 ? 2 : 1);
  const std::int64_t row_bytes = buffer.bytes() / buffer.shape[0];
  if (is_flat || row_bytes % kPitchBytes == 0) return;
  evaluator.fail("the rows of {} have {} bytes; a texture of 2 dimensions needs a multiple of {}",
                 buffer.name, row_bytes, kPitchBytes);
}

BufferPlan plan_buffer(const BufferSpec& spec, const std::string& name,
                       const Evaluator& evaluator) {
  BufferPlan plan{name, spec.dtype, {}, spec.role, "", {}, 0, spec.copy_of, spec.symbol};
  std::int64_t bytes = size_bytes(spec.dtype);  // at least
  for (std::size_t i = 0; i < spec.shape.size(); ++i) {
    plan.shape.push_back(
        evaluator.eval(spec.shape[i], {1, kMostInt64}, "dimension {} of {}", i, name));
    if (__builtin_mul_overflow(bytes, plan.shape.back(), &bytes)) {
      evaluator.fail("{} has more than {} bytes", name, kMostInt64);
    }
  }
  // What a reference's kernel reads has no shape here.
  if (spec.dtype == DType::e2m1 && !plan.shape.empty() && plan.shape.back() % 2 != 0) {
    evaluator.fail(
        "rows of {} have {} elements; of e2m1, of which two share a byte, they must be even", name,
        plan.shape.back());
  }
  const std::int64_t elements = plan.elements();
  if (spec.zeroed) plan.zeroed = elements;
  if (spec.zeroed_elements) {
    plan.zeroed = evaluator.eval(*spec.zeroed_elements, {1, elements}, "init of {}", name);
  }
  if (spec.check.first) {
    plan.checked = evaluator.eval(*spec.check.first, {1, elements}, "check of {}", name);
  }
  plan.texture = spec.texture;
  if (plan.texture) check_texture(plan, evaluator);
  plan.check_sorted = spec.check.sorted;
  plan.check_sum = spec.check.sum;
  return plan;
}

ScalarPlan plan_scalar(const ScalarSpec& spec, const std::string& name,
                       const Evaluator& evaluator) {
  const auto checked = [&](auto value) -> ScalarPlan {
    if (holds(spec.dtype, value)) return {name, spec.dtype, value};
    evaluator.fail("{}{} \"{}\" is {}, but {} holds {}", place(spec.value.where), name,
                   spec.value.expr.text(), value, to_text(spec.dtype), range_text(spec.dtype));
  };
  if (is_floating(spec.dtype)) return checked(evaluator.eval_real(spec.value, "{}", name));
  return checked(evaluator.eval(spec.value, kAnyInteger, "{}", name));
}

ArgPlan plan_arg(const ArgSpec& arg, const Evaluator& evaluator) {
  if (const auto* buffer = std::get_if<BufferSpec>(&arg.form)) {
    return plan_buffer(*buffer, arg.name, evaluator);
  }
  if (const auto* scalar = std::get_if<ScalarSpec>(&arg.form)) {
    return plan_scalar(*scalar, arg.name, evaluator);
  }
  if (const auto* map = std::get_if<TensorMapSpec>(&arg.form)) {
    return plan_tensor_map(*map, arg.name, evaluator);
  }
  return StructPlan{arg.name, {}};
}

void refuse_source(const BufferPlan& buffer, std::string_view what, const BufferPlan& source,
                   std::int64_t found, const Evaluator& evaluator) {
  evaluator.fail("{} has {} elements and is to be {} of {}, which has {}", buffer.name,
                 buffer.elements(), what, source.name, found);
}

void check_copies(const Plan& plan, const Evaluator& evaluator) {
  for (const BufferPlan* buffer : plan.buffers()) {
    if (buffer->copy_of.empty()) continue;
    const BufferPlan& source = *plan.find_buffer(buffer->copy_of);
    if (source.elements() != buffer->elements()) {
      refuse_source(*buffer, "a copy", source, source.elements(), evaluator);
    }
  }
}

}  // namespace assay
