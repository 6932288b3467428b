#include "space/space.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/find_named.h"
#include "space/space_parts.h"

namespace assay {
namespace {

constexpr std::size_t kMostTableEntries = 65536;
constexpr std::uint64_t kMostPoints = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return b > kMostPoints - a ? kMostPoints : a + b;
}

std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kMostPoints / b ? kMostPoints : a * b;
}

KernelSpec with_values_of(const Config& config, KernelSpec kernel) {
  for (const auto& [name, value] : config) {
    ParamSpec* const param = find_named(kernel.params, name);
    if (param == nullptr) continue;
    param->values = {value};
    param->device_values.clear();
  }
  return kernel;
}

KernelSpec with_device_values(KernelSpec kernel, const DeviceInfo& device) {
  KernelSpec names;  // of the device alone, by which the expressions were read
  for (const std::string_view name : kDeviceNames) names.symbols.add(std::string(name));
  const Bindings bindings(names, device);
  for (ParamSpec& param : kernel.params) {
    for (const ExprSpec& each : param.device_values) {
      try {
        add_once(param.values, Value(bindings.eval(each.expr)));  // two may be the same here
      } catch (const EvalError& error) {
        throw SpecError(each.where, "{} on {}", error.what(), device.name);
      }
    }
    param.device_values.clear();
  }
  return kernel;
}

Space::Impl::Impl(const KernelSpec& kernel_spec, const Problem& the_problem,
                  const DeviceInfo& device_info)
    : kernel(with_device_values(kernel_spec, device_info)),
      problem(the_problem),
      device(device_info),
      level_of_slot(kernel.symbols.size()),
      param_of_slot(kernel.symbols.size(), -1),
      let_of_slot(kernel.symbols.size(), -1) {
  const Bindings check_dims(kernel, problem, device);
  for (const ParamSpec& spec : kernel.params) {
    Param param{kernel.symbols.find(spec.name), {}};
    for (const Value& value : spec.values) param.values.push_back(slot_value(kernel, value));
    param_of_slot[param.slot] = static_cast<int>(params.size());
    params.push_back(std::move(param));
    level_of_slot[params.back().slot] = params.size();
  }
  // A let reads only lets before it.
  for (const LetSpec& spec : kernel.lets) {
    const int slot = kernel.symbols.find(spec.name);
    Let let{slot, spec.value.expr, 0, false, params_of(spec.value.expr)};
    let.level = level_of(let.params);
    let.table_entries = table_entries(let.params, let.level);
    lets.push_back(std::move(let));
    let_of_slot[slot] = static_cast<int>(lets.size()) - 1;
    level_of_slot[slot] = lets.back().level;
  }
  levels.resize(params.size() + 1);
  for (std::size_t i = 0; i < kernel.constraints.size(); ++i) {
    const Expr& expr = kernel.constraints[i].expr;
    constraints.push_back({expr, lets_of(expr), params_of(expr), 0});
    place(i);
  }
  for (std::size_t i = 0; i < lets.size(); ++i) {
    if (lets[i].is_read) levels[lets[i].level].lets.push_back(i);
  }
}

/// How many parameters are bound once these are.
std::size_t Space::Impl::level_of(const std::vector<std::size_t>& of_params) {
  return of_params.empty() ? 0 : of_params.back() + 1;
}

/// How large a table is of what depends on these parameters, and is asked for where so many are
/// bound. 0: it would not be asked again, or is too large.
std::size_t Space::Impl::table_entries(const std::vector<std::size_t>& of_params,
                                       std::size_t level) const {
  const std::uint64_t combinations = raw(of_params);
  return of_params.size() < level && combinations <= kMostTableEntries ? combinations : 0;
}

/// The parameters that `expr` reads, directly or through lets, ascending.
std::vector<std::size_t> Space::Impl::params_of(const Expr& expr) const {
  std::set<std::size_t> read;
  for (const int slot : expr.slots()) {
    if (param_of_slot[slot] >= 0) read.insert(static_cast<std::size_t>(param_of_slot[slot]));
    if (let_of_slot[slot] < 0) continue;
    const auto& through = lets[static_cast<std::size_t>(let_of_slot[slot])].params;
    read.insert(through.begin(), through.end());
  }
  return {read.begin(), read.end()};
}

/// The lets that `expr` reads, directly or through others, in their order.
std::vector<std::size_t> Space::Impl::lets_of(const Expr& expr) const {
  std::vector<bool> is_read(lets.size());
  const auto mark = [&](const Expr& reader) {
    for (const int slot : reader.slots()) {
      if (let_of_slot[slot] >= 0) is_read[let_of_slot[slot]] = true;
    }
  };
  mark(expr);
  // From the last let to the first, as each reads only those before it.
  for (std::size_t i = lets.size(); i-- > 0;) {
    if (is_read[i]) mark(lets[i].expr);
  }
  std::vector<std::size_t> read;
  for (std::size_t i = 0; i < lets.size(); ++i) {
    if (is_read[i]) read.push_back(i);
  }
  return read;
}

/// Chooses the level of a constraint and whether it has a table; without one, its lets get levels.
void Space::Impl::place(std::size_t index) {
  Constraint& constraint = constraints[index];
  const std::size_t level = level_of(constraint.params);
  levels[level].constraints.push_back(index);
  constraint.table_entries = table_entries(constraint.params, level);
  if (constraint.table_entries > 0) return;
  for (const std::size_t let : constraint.lets) lets[let].is_read = true;
  constraint.lets.clear();
  std::set<std::size_t> known_at;
  for (const int slot : constraint.expr.slots()) known_at.insert(level_of_slot[slot]);
  for (const std::size_t at : known_at) {
    if (at < level) levels[at].ahead.push_back(index);
  }
}

bool Space::Impl::holds(const Constraint& constraint, Bindings& bindings) const {
  try {
    return bindings.eval(constraint.expr) != 0;
  } catch (const EvalError&) {
    return false;
  }
}

std::vector<std::vector<std::size_t>> Space::Impl::groups() const {
  std::vector<std::size_t> leader(params.size());  // the first parameter of each one's group
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  for (const Constraint& constraint : constraints) {
    for (const std::size_t param : constraint.params) {
      const std::size_t one = leader[constraint.params.front()], other = leader[param];
      std::ranges::replace(leader, std::max(one, other), std::min(one, other));
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t first = 0; first < params.size(); ++first) {
    if (leader[first] != first) continue;
    std::vector<std::size_t>& group = groups.emplace_back();
    for (std::size_t i = first; i < params.size(); ++i) {
      if (leader[i] == first) group.push_back(i);
    }
  }
  return groups;
}

std::vector<std::size_t> Space::Impl::all_params() const {
  std::vector<std::size_t> all(params.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::uint64_t Space::Impl::raw(const std::vector<std::size_t>& of_params) const {
  std::uint64_t points = 1;
  for (const std::size_t param : of_params) {
    points = saturating_multiply(points, params[param].values.size());
  }
  return points;
}

Space::Space(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device)
    : impl_(std::make_shared<const Impl>(kernel, problem, device)) {}

void Space::for_each(const std::function<bool(const std::vector<int>&)>& visit,
                     std::uint64_t max_steps) const {
  std::uint64_t num_visited = 0;
  const Walk::Visit counted = [&](const std::vector<int>& point) {
    if (++num_visited > kMaxConfigs) {
      throw UsageError("kernel {}: expected at most {} configurations, found more",
                       impl_->kernel.name, kMaxConfigs);
    }
    return visit(point);
  };
  if (Walk(*impl_, impl_->all_params()).run({max_steps}, counted)) return;
  throw UsageError(
      "kernel {}: after {} partial configurations the end of the space is not near; give the "
      "parameters fewer values, such as {}, or declare those first that constraints remove most of",
      impl_->kernel.name, max_steps, widest_param());
}

const std::vector<ParamSpec>& Space::params() const { return impl_->kernel.params; }

Config Space::config(std::span<const int> point) const {
  Config config;
  for (std::size_t i = 0; i < impl_->params.size(); ++i) {
    const ParamSpec& param = impl_->kernel.params[i];
    config.emplace_back(param.name, param.values[point[i]]);
  }
  return config;
}

std::optional<std::vector<int>> Space::point(const Config& config) const {
  const std::vector<ParamSpec>& params = impl_->kernel.params;
  if (config.size() != params.size()) return std::nullopt;
  std::vector<int> point;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::vector<Value>& values = params[i].values;
    const auto at = std::ranges::find(values, config[i].second);
    if (config[i].first != params[i].name || at == values.end()) return std::nullopt;
    point.push_back(static_cast<int>(at - values.begin()));
  }
  return point;
}

bool Space::is_valid(std::span<const int> point) const {
  Bindings bindings(impl_->kernel, impl_->problem, impl_->device);
  for (std::size_t i = 0; i < impl_->params.size(); ++i) {
    bindings.set(impl_->params[i].slot, impl_->params[i].values[point[i]]);
  }
  return first_broken(bindings) == nullptr;
}

/// The first constraint that fails, or null. All parameters are bound.
const Expr* Space::first_broken(Bindings& bindings) const {
  for (const Impl::Let& let : impl_->lets) bindings.set_let(let.slot, let.expr);
  for (const Impl::Constraint& constraint : impl_->constraints) {
    if (!impl_->holds(constraint, bindings)) return &constraint.expr;
  }
  return nullptr;
}

std::optional<std::string> Space::broken_constraint(const Config& config) const {
  const KernelSpec& kernel = impl_->kernel;
  Bindings bindings(kernel, impl_->problem, impl_->device);
  std::vector<bool> given(kernel.params.size());
  for (const auto& [name, value] : config) {
    std::size_t i = 0;
    while (i < kernel.params.size() && kernel.params[i].name != name) ++i;
    if (i == kernel.params.size() || given[i]) {
      throw UsageError("kernel {} has {} parameter {}, in \"{}\"", kernel.name,
                       i == kernel.params.size() ? "no" : "one", name, to_text(config));
    }
    const std::vector<Value>& values = kernel.params[i].values;
    if (std::ranges::find(values, value) == values.end()) {
      std::vector<std::string> allowed;
      for (const Value& each : values) allowed.push_back(to_text(each));
      throw UsageError("parameter {} of kernel {} is {}, allowed are {}", name, kernel.name,
                       to_text(value), fmt::join(allowed, ", "));
    }
    given[i] = true;
    bindings.set(impl_->params[i].slot, slot_value(kernel, value));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    throw UsageError("kernel {} needs a value for parameter {}, found none in \"{}\"", kernel.name,
                     kernel.params[i].name, to_text(config));
  }
  const Expr* const broken = first_broken(bindings);
  return broken == nullptr ? std::nullopt : std::optional(broken->text());
}

}  // namespace assay
