// The arguments and launches of a plan: all that a program needs that launches tuned kernels.

#include <algorithm>
#include <limits>

#include "space/plan.h"
#include "space/plan_parts.h"
#include "spec/entry.h"

namespace assay {
namespace {

constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();

// Limits of every compute capability from 8.0 on (CUDA C++ Programming Guide, technical
// specifications). They are checked here because the driver takes 32-bit sizes. A larger size would
// be cut, and another launch would be timed than the one written.
constexpr std::array<std::int64_t, 3> kMostGrid{kMostInt32, 65535, 65535};
constexpr std::array<std::int64_t, 3> kMostBlock{1024, 1024, 64};
constexpr std::int64_t kMostThreads = 1024;
constexpr std::int64_t kMostClusterBlocks = 16;  // above 8 the kernel opts in

using Extent = std::array<std::int64_t, 3>;

Extent plan_extent(const std::vector<ExprSpec>& specs, const std::string& entry, const char* what,
                   const Extent& most, const Evaluator& evaluator) {
  Extent extent{1, 1, 1};
  for (std::size_t i = 0; i < std::min(specs.size(), extent.size()); ++i) {
    extent[i] = evaluator.eval(specs[i], {1, most[i]}, "{} {}.{}", entry, what, "xyz"[i]);
  }
  return extent;
}

void check_product(const Extent& extent, const std::string& entry, const char* what,
                   std::int64_t most, const Evaluator& evaluator) {
  const std::int64_t product = extent[0] * extent[1] * extent[2];
  if (product > most) {
    evaluator.fail("{} {} {} x {} x {} is {} in all, allowed are 1 to {}", entry, what, extent[0],
                   extent[1], extent[2], product, most);
  }
}

std::size_t place_of(const Plan& plan, std::string_view name) {
  return static_cast<std::size_t>(plan.find_arg(name) - plan.args.data());
}

/// Gives a scalar of `owner` a place in `plan.args`.
std::size_t add_scalar(const ScalarSpec& spec, const std::string& owner, const Evaluator& evaluator,
                       Plan& plan) {
  plan.args.emplace_back(plan_scalar(spec, "a scalar of " + owner, evaluator));
  return plan.args.size() - 1;
}

/// What a launch passes, as places in `plan.args`. A scalar of its own gets a place there.
std::vector<std::size_t> plan_args(const LaunchSpec& spec, const std::vector<std::size_t>& passed,
                                   std::int64_t pass, std::int64_t passes,
                                   const Evaluator& evaluator, Plan& plan) {
  if (!spec.args) return passed;
  std::vector<std::size_t> places;
  for (const LaunchArgSpec& arg : *spec.args) {
    places.push_back(arg.names.empty() ? add_scalar(arg.scalar, spec.entry, evaluator, plan)
                                       : place_of(plan, taken_by_pass(arg.names, pass, passes)));
  }
  return places;
}

/// Gives the struct at `place` its members. A scalar of its own gets a place in `plan.args`.
void plan_members(const StructSpec& spec, std::size_t place, const Evaluator& evaluator,
                  Plan& plan) {
  std::vector<std::size_t> members;
  for (const StructSpec::Member& member : spec.members) {
    const std::string& owner = std::get<StructPlan>(plan.args[place]).name;
    members.push_back(member.name.empty() ? add_scalar(member.scalar, owner, evaluator, plan)
                                          : place_of(plan, member.name));
  }
  std::get<StructPlan>(plan.args[place]).members = std::move(members);
}

/// Writes out the passes of each group of launches. `passed` are the places of what a launch passes
/// that names no arguments.
std::vector<LaunchPlan> plan_launches(const std::vector<LaunchSpec>& specs,
                                      const std::vector<std::size_t>& passed, Evaluator& evaluator,
                                      Plan& plan) {
  std::vector<LaunchPlan> launches;
  for (auto begin = specs.begin(), end = begin; begin != specs.end(); begin = end) {
    end = std::find_if(begin, specs.end(),
                       [&](const LaunchSpec& launch) { return launch.group != begin->group; });
    const std::int64_t passes =
        begin->repeat ? evaluator.eval(*begin->repeat, {1, kMostLaunches}, "repeat") : 1;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      evaluator.set_pass(pass);
      for (auto launch = begin; launch != end; ++launch) {
        if (launch->when &&
            evaluator.eval(*launch->when, kAnyInteger, "{} when", launch->entry) == 0) {
          continue;
        }
        const std::string entry = instantiate(launch->entry, plan.config);
        launches.push_back(plan_launch(*launch, entry, evaluator));
        launches.back().args = plan_args(*launch, passed, pass, passes, evaluator, plan);
        if (launches.size() > kMostLaunches) {
          evaluator.fail("more than {} launches in all", kMostLaunches);
        }
      }
    }
  }
  return launches;
}

}  // namespace

const std::string& taken_by_pass(const std::vector<std::string>& names, std::int64_t pass,
                                 std::int64_t passes) {
  const bool reads = names.size() == 3;
  if (names.size() == 1 || (reads && pass == 0)) return names.front();
  const std::int64_t passes_after_writing = passes - pass - (reads ? 0 : 1);
  return names.rbegin()[passes_after_writing % 2];
}

LaunchPlan plan_launch(const LaunchSpec& spec, const std::string& entry,
                       const Evaluator& evaluator) {
  constexpr Extent kMostCluster{kMostClusterBlocks, kMostClusterBlocks, kMostClusterBlocks};
  LaunchPlan plan;
  plan.entry = entry;
  plan.grid = plan_extent(spec.grid, entry, "grid", kMostGrid, evaluator);
  plan.block = plan_extent(spec.block, entry, "block", kMostBlock, evaluator);
  plan.cluster = plan_extent(spec.cluster, entry, "cluster", kMostCluster, evaluator);
  check_product(plan.block, entry, "block", kMostThreads, evaluator);
  check_product(plan.cluster, entry, "cluster", kMostClusterBlocks, evaluator);
  if (spec.smem_bytes) {
    plan.smem_bytes = evaluator.eval(*spec.smem_bytes, {0, kMostInt32}, "{} smem_bytes", entry);
  }
  if (spec.early) plan.early = evaluator.eval(*spec.early, {0, 1}, "{} early", entry) != 0;
  if (spec.carveout) {
    plan.carveout =
        static_cast<int>(evaluator.eval(*spec.carveout, {-1, 100}, "{} carveout", entry));
  }
  plan.cooperative = spec.cooperative;
  return plan;
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t product = 1;
  for (const std::int64_t side : shape) product *= side;
  return product;
}

static std::vector<const BufferPlan*> buffers_of(const std::vector<ArgPlan>& args) {
  std::vector<const BufferPlan*> buffers;
  for (const ArgPlan& arg : args) {
    if (const auto* buffer = std::get_if<BufferPlan>(&arg)) buffers.push_back(buffer);
  }
  return buffers;
}

std::vector<const BufferPlan*> Plan::buffers() const { return buffers_of(args); }
std::vector<const BufferPlan*> ReferenceKernelPlan::buffers() const { return buffers_of(args); }

const ArgPlan* Plan::find_arg(std::string_view name) const {
  for (const ArgPlan& arg : args) {
    if (std::visit([](const auto& form) -> const std::string& { return form.name; }, arg) == name) {
      return &arg;
    }
  }
  return nullptr;
}

const BufferPlan* Plan::find_buffer(std::string_view name) const {
  for (const BufferPlan* buffer : buffers()) {
    if (buffer->name == name) return buffer;
  }
  return nullptr;
}

/// Of structs and launches, without passes.
static std::size_t count_own_scalars(const KernelSpec& kernel) {
  std::size_t count = 0;
  for (const ArgSpec& arg : kernel.args) {
    const auto* packed = std::get_if<StructSpec>(&arg.form);
    if (packed) count += packed->members.size();
  }
  for (const LaunchSpec* launch : all_launches(kernel)) {
    if (!launch->args) continue;
    count += static_cast<std::size_t>(std::ranges::count_if(
        *launch->args, [](const LaunchArgSpec& arg) { return arg.names.empty(); }));
  }
  return count;
}

Plan make_launch_plan(const KernelSpec& kernel, const Problem& problem, const Config& config,
                      Evaluator& evaluator) {
  Plan plan;
  plan.kernel = kernel.name;
  plan.problem = problem;
  plan.config = config;
  plan.args.reserve(kernel.args.size() + count_own_scalars(kernel));
  for (const ArgSpec& arg : kernel.args) plan.args.push_back(plan_arg(arg, evaluator));
  for (std::size_t i = 0; i < kernel.args.size(); ++i) {
    const auto* packed = std::get_if<StructSpec>(&kernel.args[i].form);
    if (packed) plan_members(*packed, i, evaluator, plan);
  }
  check_copies(plan, evaluator);
  const std::vector<std::size_t> passed = passed_args(kernel);
  plan.launches = plan_launches(kernel.launches, passed, evaluator, plan);
  plan.prepare = plan_launches(kernel.prepare, passed, evaluator, plan);
  return plan;
}

std::string find_launch_plan(const KernelSpec& kernel, const Problem& problem, const Config& config,
                             const DeviceInfo& device, Plan& plan) {
  Evaluator evaluator(kernel, problem, config, device);
  const ExprSpec* const broken = evaluator.broken_constraint();
  if (broken != nullptr) return broken->expr.text();
  plan = make_launch_plan(kernel, problem, config, evaluator);
  return {};
}

}  // namespace assay
