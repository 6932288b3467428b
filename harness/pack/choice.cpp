#include "pack/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "space/plan_parts.h"

namespace assay {
namespace {

/// Whether a GPU of the compute capability runs machine code for `arch`: "90a" is for 90 alone,
/// "100f" and "80" for later ones of the same generation, too.
bool code_runs_on(std::string_view arch, int cc) {
  int of = 0;
  const auto [end, error] = std::from_chars(arch.data(), arch.data() + arch.size(), of);
  if (error != std::errc()) return false;
  if (std::string_view(end, arch.data() + arch.size()) == "a") return of == cc;
  return of / 10 == cc / 10 && of <= cc;
}

const PackCode* find_code(const Pack& pack, const PackRow& row, int cc) {
  for (const std::size_t code : row.codes) {
    if (code_runs_on(pack.codes[code].arch, cc)) return &pack.codes[code];
  }
  return nullptr;
}

/// Why cuBLASLt is to be called and not the nearest row's configuration; empty if it is not. A near
/// row becomes the one above the problem.
std::string why_fallback(const Ranked& nearest, const Problem& problem, bool is_same_gpu,
                         Choice& choice) {
  const PackRow& row = *choice.row;
  if (choice.match == Match::otherwise) return "no tuned problem is near";
  if (choice.factor == 1) {
    if (!is_library_as_fast(row, is_same_gpu)) return {};
    return choice.match == Match::exact ? "no kernel was clearly faster than cuBLASLt"
                                        : "cuBLASLt was as fast for " + to_text(row.problem);
  }
  if (!is_same_gpu) return "the sizes around were tuned on " + choice.table->device.name;
  if (nearest.above == nullptr) return "cuBLASLt may be faster";
  choice.below = nearest.below;
  choice.above = nearest.above;
  choice.row = nearest.above;
  choice.factor = distance_of(nearest.above->problem, problem).factor;
  return {};
}

/// Has cuBLASLt called. Returns why it cannot be: empty if it can.
std::string plan_fallback(const KernelSpec& kernel, const Problem& problem,
                          const DeviceInfo& device, Choice& choice) {
  choice.plan.kernel = "cublasLtMatmul";
  choice.product = kernel.reference.data();
  try {
    const Evaluator evaluator(kernel, problem, device);
    choice.plan.args.reserve(  // a new page of memory costs as much as the rest of a choice
        static_cast<std::size_t>(std::ranges::count_if(kernel.args, is_passed)));
    for (const ArgSpec& arg : kernel.args) {
      if (is_passed(arg)) choice.plan.args.push_back(plan_arg(arg, evaluator));
    }
  } catch (const PlanError& error) {
    return error.what();
  }
  if (choice.match == Match::exact) choice.algorithm = choice.row->algorithm;
  choice.match = Match::fallback;
  return {};
}

std::string why_not_exact(const Choice& choice, const DeviceInfo& device) {
  if (choice.match == Match::exact) return {};
  if (!is_measured(*choice.row)) {
    return fmt::format("this is the default of {}, which was not measured", choice.plan.kernel);
  }
  const std::string tuned = to_text(choice.row->problem);
  std::string why = choice.match == Match::otherwise
                        ? fmt::format("no tuned problem is near; this is for {}", tuned)
                    : choice.factor == 1
                        ? "this problem was tuned"
                        : fmt::format("the nearest problem that fits is {}", tuned);
  if (choice.table->device.name != device.name) why += " on " + choice.table->device.name;
  return why;
}

/// Fills in `choice.code` and `choice.plan`. Returns why it cannot: empty if it did.
std::string plan_row(const Pack& pack, const Problem& problem, const DeviceInfo& device,
                     Choice& choice) {
  const PackRow& row = *choice.row;
  const PackKernel& kernel = pack.kernels[row.kernel];
  choice.code = find_code(pack, row, device.cc);
  if (choice.code == nullptr) {
    return fmt::format("its machine code does not run on compute capability {}", device.cc);
  }
  if (kernel.per_problem && row.problem != problem) return "its machine code is for one problem";
  try {
    std::string broken = find_launch_plan(kernel.spec, problem, row.config, device, choice.plan);
    if (!broken.empty()) return broken;
  } catch (const PlanError& error) {
    return error.what();
  } catch (const UsageError& error) {
    return error.what();
  }
  for (auto* launches : {&choice.plan.launches, &choice.plan.prepare}) {
    for (LaunchPlan& launch : *launches) {
      const auto symbol = choice.code->symbols.find(launch.entry);
      if (symbol != choice.code->symbols.end()) launch.symbol = symbol->second;
    }
  }
  return {};
}

}  // namespace

std::string why_text(const Choice& choice) {
  if (choice.above == nullptr) return choice.why;
  const std::string faster =
      fmt::format("faster than cuBLASLt for {} and {}", to_text(choice.below->problem),
                  to_text(choice.above->problem));
  return choice.why.empty() ? faster : choice.why + ": " + faster;
}

Problem complete_problem(const Pack& pack, std::string_view op, const Problem& given) {
  const auto kernel = std::ranges::find_if(
      pack.kernels, [&](const PackKernel& each) { return each.spec.op == op; });
  if (kernel == pack.kernels.end()) {
    std::vector<std::string> ops;
    for (const PackTable& table : pack.tables) ops.push_back(table.op);
    throw UsageError("the pack has no op {}{}", op, suggestion(op, ops));
  }
  const KernelSpec& spec = kernel->spec;
  Problem problem;
  for (const std::string& dim : spec.dims) problem.emplace_back(dim, std::int64_t{0});
  problem.insert(problem.end(), spec.traits.begin(), spec.traits.end());
  std::size_t sizes = 0;
  for (const auto& [name, number] : given) {
    const auto found = std::ranges::find(problem, name, &Problem::value_type::first);
    if (found == problem.end()) throw UsageError("{} has no size and no trait {}", op, name);
    if (found < problem.begin() + static_cast<std::ptrdiff_t>(spec.dims.size())) {
      const auto* size = std::get_if<std::int64_t>(&number);
      if (size == nullptr || *size < 1) {
        throw UsageError("{}: {} is {}, expected an integer from 1 on", op, name, to_text(number));
      }
      if (found->second == Number(std::int64_t{0})) ++sizes;
    }
    found->second = number;
  }
  if (sizes < spec.dims.size()) {
    throw UsageError("{} needs the sizes {}", op, fmt::join(spec.dims, ", "));
  }
  return problem;
}

Choice choose(const Pack& pack, std::string_view op, const Problem& problem,
              const DeviceInfo& device, double most_factor, Fallback fallback) {
  std::string nearer;  // why what is nearer does not fit
  const auto after = [&](const Ranked* last) {
    return next_row(pack, op, problem, device, most_factor, last);
  };
  for (std::optional<Ranked> next = after(nullptr); next; next = after(&*next)) {
    const Ranked& each = *next;
    const double factor = each.order.factor;
    Choice choice;
    choice.table = each.table;
    choice.row = each.row;
    choice.factor = factor;
    const bool is_same_gpu = each.table->device.name == device.name;
    if (factor > most_factor || !is_measured(*each.row)) {
      choice.match = Match::otherwise;
    } else if (factor != 1 || !is_same_gpu) {
      choice.match = Match::near;
    }
    const KernelSpec& kernel = pack.kernels[each.row->kernel].spec;
    const bool may_fall_back = fallback == Fallback::allowed && !kernel.reference.empty();
    std::string why =
        may_fall_back ? why_fallback(each, problem, is_same_gpu, choice) : std::string();
    std::string misfit;
    if (why.empty()) misfit = plan_row(pack, problem, device, choice);
    if (may_fall_back && choice.match == Match::near && !misfit.empty()) why = misfit;
    if (!why.empty()) misfit = plan_fallback(kernel, problem, device, choice);
    if (misfit.empty()) {
      if (!why.empty()) choice.why = why;
      if (choice.why.empty() && choice.above == nullptr) choice.why = why_not_exact(choice, device);
      if (!nearer.empty()) choice.why += (choice.why.empty() ? "" : "; ") + nearer;
      return choice;
    }
    if (!nearer.empty()) continue;
    nearer = fmt::format("{} {} does not fit: {}", kernel.name, to_text(each.row->problem), misfit);
  }
  throw UsageError("the pack has nothing for {} {} on {}: {}", op, to_text(problem), device.name,
                   nearer);
}

}  // namespace assay
