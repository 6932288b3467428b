// The walk is depth first over the parameters as declared. What a constraint needs is known before
// the walk. It is tested at the level of the last parameter that it reads, directly or through
// lets. A let is evaluated at the level of its own last parameter, once for the whole subtree
// below.
//
// A constraint may not read some of the parameters that are bound before its level. Without care it
// would then be evaluated again, with the same answer, for each of their values. So if its own
// parameters have few combinations, its answers are kept in a table for the length of the walk. A
// lookup costs 3 ns, an evaluation 15 ns or more, and one that divides by zero 3.6 us (space_bench,
// 2.3 GHz).

#include "space/space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "space/bindings.h"

namespace assay {
namespace {

constexpr std::size_t kMostTableEntries = 65536;

constexpr std::uint64_t kMostPoints = std::numeric_limits<std::uint64_t>::max();

/// Counts of points stop at the largest number; they never wrap.
std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return b > kMostPoints - a ? kMostPoints : a + b;
}

std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kMostPoints / b ? kMostPoints : a * b;
}

struct Let {
  int slot;
  Expr expr;
  std::size_t level;  // where all that it reads is bound, directly or not
  bool is_read;       // by a constraint without a table
};

struct Constraint {
  Expr expr;
  std::vector<std::size_t> lets;    // what its table needs evaluated, in the order of the lets
  std::vector<std::size_t> params;  // what it depends on, ascending
  std::size_t table_entries = 0;    // 0: its answers are not kept
};

struct Param {
  int slot;
  std::vector<std::int64_t> values;
};

/// What becomes known once the parameters up to some level are bound.
struct Level {
  std::vector<std::size_t> lets;         // that constraints without a table read, here or deeper
  std::vector<std::size_t> constraints;  // in the order declared
  std::uint64_t points = 1;              // of the subtree below
};

}  // namespace

KernelSpec with_values_of(const Config& config, KernelSpec kernel) {
  for (ParamSpec& param : kernel.params) {
    for (const auto& [name, value] : config) {
      if (name == param.name) param.values = {value};
    }
  }
  return kernel;
}

struct Space::Impl {
  KernelSpec kernel;
  Problem problem;
  DeviceInfo device;
  std::vector<Param> params;
  std::vector<Let> lets;
  std::vector<Constraint> constraints;
  std::vector<int> param_of_slot, let_of_slot;  // -1: the slot is of something else
  std::vector<Level> levels;  // [0]: only problem and device are bound; [i + 1]: param i, too

  Impl(const KernelSpec& kernel_spec, const Problem& the_problem, const DeviceInfo& device_info);

  std::size_t level_of(const Expr& expr) const;
  void trace(Constraint& constraint) const;
  void place(std::size_t index);
  bool holds(const Constraint& constraint, Bindings& bindings) const;
};

Space::Impl::Impl(const KernelSpec& kernel_spec, const Problem& the_problem,
                  const DeviceInfo& device_info)
    : kernel(kernel_spec),
      problem(the_problem),
      device(device_info),
      param_of_slot(kernel.symbols.size(), -1),
      let_of_slot(kernel.symbols.size(), -1) {
  const Bindings check_dims(kernel, problem, device);
  for (const ParamSpec& spec : kernel.params) {
    Param param{kernel.symbols.find(spec.name), {}};
    for (const Value& value : spec.values) param.values.push_back(slot_value(kernel, value));
    param_of_slot[static_cast<std::size_t>(param.slot)] = static_cast<int>(params.size());
    params.push_back(std::move(param));
  }
  // A let reads only lets before it.
  for (const LetSpec& spec : kernel.lets) {
    const int slot = kernel.symbols.find(spec.name);
    lets.push_back({slot, spec.value.expr, level_of(spec.value.expr), false});
    let_of_slot[static_cast<std::size_t>(slot)] = static_cast<int>(lets.size()) - 1;
  }
  levels.resize(params.size() + 1);
  const bool empty = std::any_of(params.begin(), params.end(),
                                 [](const Param& param) { return param.values.empty(); });
  if (empty) levels.back().points = 0;  // 0 times a saturated count is still 0
  for (std::size_t i = params.size(); i-- > 0;) {
    levels[i].points = saturating_multiply(levels[i + 1].points, params[i].values.size());
  }
  for (std::size_t i = 0; i < kernel.constraints.size(); ++i) {
    constraints.push_back({kernel.constraints[i].expr, {}, {}, 0});
    trace(constraints[i]);
    place(i);
  }
  for (std::size_t i = 0; i < lets.size(); ++i) {
    if (lets[i].is_read) levels[lets[i].level].lets.push_back(i);
  }
}

/// How many parameters are bound once all that `expr` reads is.
std::size_t Space::Impl::level_of(const Expr& expr) const {
  std::size_t level = 0;
  for (const int slot : expr.slots()) {
    const int param = param_of_slot[static_cast<std::size_t>(slot)];
    const int let = let_of_slot[static_cast<std::size_t>(slot)];
    if (param >= 0) level = std::max(level, static_cast<std::size_t>(param) + 1);
    if (let >= 0) level = std::max(level, lets[static_cast<std::size_t>(let)].level);
  }
  return level;
}

/// Finds all that the constraint reads, through lets too.
void Space::Impl::trace(Constraint& constraint) const {
  std::vector<bool> reads_param(params.size()), reads_let(lets.size());
  const auto mark = [&](const Expr& expr) {
    for (const int slot : expr.slots()) {
      const int param = param_of_slot[static_cast<std::size_t>(slot)];
      const int let = let_of_slot[static_cast<std::size_t>(slot)];
      if (param >= 0) reads_param[static_cast<std::size_t>(param)] = true;
      if (let >= 0) reads_let[static_cast<std::size_t>(let)] = true;
    }
  };
  mark(constraint.expr);
  // From the last let to the first, as each reads only those before it.
  for (std::size_t i = lets.size(); i-- > 0;) {
    if (reads_let[i]) mark(lets[i].expr);
  }
  for (std::size_t i = 0; i < lets.size(); ++i) {
    if (reads_let[i]) constraint.lets.push_back(i);
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (reads_param[i]) constraint.params.push_back(i);
  }
}

/// Chooses the level of a constraint and whether it has a table; without one, its lets get levels.
void Space::Impl::place(std::size_t index) {
  Constraint& constraint = constraints[index];
  const std::size_t level = constraint.params.empty() ? 0 : constraint.params.back() + 1;
  levels[level].constraints.push_back(index);
  std::uint64_t combinations = 1;
  for (const std::size_t param : constraint.params) {
    combinations = saturating_multiply(combinations, params[param].values.size());
  }
  const bool asked_again = constraint.params.size() < level;
  if (asked_again && combinations <= kMostTableEntries) {
    constraint.table_entries = combinations;
    return;
  }
  for (const std::size_t let : constraint.lets) lets[let].is_read = true;
  constraint.lets.clear();
}

bool Space::Impl::holds(const Constraint& constraint, Bindings& bindings) const {
  try {
    return bindings.eval(constraint.expr) != 0;
  } catch (const EvalError&) {
    return false;
  }
}

namespace {

// A step takes 20 to 100 ns, with many lets more.
constexpr std::uint64_t kStepsBetweenChecks = 256;

enum class Answer : std::uint8_t { unknown, holds, fails };

}  // namespace

/// One walk over the space, with all that it changes on the way.
class Space::Walk {
 public:
  using Visit = std::function<bool(const std::vector<int>&)>;

  Walk(const Impl& space, const Visit& visit, std::uint64_t max_steps,
       std::optional<double> max_seconds, std::optional<std::uint64_t> end_step)
      : space_(space),
        visit_(visit),
        max_steps_(max_steps),
        max_seconds_(max_seconds),
        end_step_(end_step),
        bindings_(space.kernel, space.problem, space.device),
        point_(space.params.size()),
        removed_(space.constraints.size()) {
    for (const Constraint& constraint : space.constraints) {
      tables_.emplace_back(constraint.table_entries, Answer::unknown);
    }
  }

  void run() {
    try {
      if (survives(0)) descend(0);
    } catch (const TimeUp&) {
      ended_at_ = num_steps_;
    }
  }

  std::uint64_t num_steps() const { return num_steps_; }
  /// After how many steps the walk was ended before its end.
  std::optional<std::uint64_t> ended_at() const { return ended_at_; }

  /// How many points each constraint removed.
  const std::vector<std::uint64_t>& removed() const { return removed_; }

 private:
  struct TimeUp {};

  /// Visits what lies below the bound parameters 0..param-1; false once the visitor has enough.
  bool descend(std::size_t param) {
    if (param == space_.params.size()) return visit_(point_);
    const Param& bound = space_.params[param];
    for (std::size_t i = 0; i < bound.values.size(); ++i) {
      point_[param] = static_cast<int>(i);
      bindings_.set(bound.slot, bound.values[i]);
      if (survives(param + 1) && !descend(param + 1)) return false;
    }
    return true;
  }

  bool survives(std::size_t index) {
    if (++num_steps_ % kStepsBetweenChecks == 0) check_patience();
    const Level& level = space_.levels[index];
    for (const std::size_t let : level.lets) {
      bindings_.set_let(space_.lets[let].slot, space_.lets[let].expr);
    }
    for (const std::size_t constraint : level.constraints) {
      if (holds(constraint)) continue;
      removed_[constraint] = saturating_add(removed_[constraint], level.points);
      return false;
    }
    return true;
  }

  /// A space can have more points than anybody has time.
  void check_patience() const {
    if (interrupted()) throw Interrupted();
    if (end_step_ && num_steps_ >= *end_step_) throw TimeUp();
    if (max_seconds_ && seconds_since(start_) > *max_seconds_) throw TimeUp();
    if (num_steps_ <= max_steps_) return;
    if (max_seconds_) throw TimeUp();
    throw UsageError(fmt::format(
        "kernel {}: after {} partial configurations the end of the space is not near; give the "
        "parameters fewer values, or declare those first that constraints remove most of",
        space_.kernel.name, max_steps_));
  }

  bool holds(std::size_t index) {
    const Constraint& constraint = space_.constraints[index];
    if (constraint.table_entries == 0) return space_.holds(constraint, bindings_);
    std::size_t entry = 0;
    for (const std::size_t param : constraint.params) {
      entry = entry * space_.params[param].values.size() + static_cast<std::size_t>(point_[param]);
    }
    Answer& answer = tables_[index][entry];
    if (answer == Answer::unknown) {
      for (const std::size_t let : constraint.lets) {
        bindings_.set_let(space_.lets[let].slot, space_.lets[let].expr);
      }
      answer = space_.holds(constraint, bindings_) ? Answer::holds : Answer::fails;
    }
    return answer == Answer::holds;
  }

  const Impl& space_;
  const Visit& visit_;
  const std::uint64_t max_steps_;
  const std::optional<double> max_seconds_;
  const std::optional<std::uint64_t> end_step_;
  Bindings bindings_;
  std::vector<int> point_;
  std::vector<std::uint64_t> removed_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::uint64_t num_steps_ = 0;
  std::optional<std::uint64_t> ended_at_;
  std::vector<std::vector<Answer>> tables_;  // of each constraint, by its parameters' indices
};

Space::Space(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device)
    : impl_(std::make_shared<const Impl>(kernel, problem, device)) {}

void Space::for_each(const std::function<bool(const std::vector<int>&)>& visit,
                     std::uint64_t max_steps, std::optional<std::uint64_t> end_step) const {
  std::uint64_t num_visited = 0;
  const Walk::Visit counted = [&](const std::vector<int>& point) {
    if (++num_visited > kMaxConfigs) {
      throw UsageError(fmt::format("kernel {}: expected at most {} configurations, found more",
                                   impl_->kernel.name, kMaxConfigs));
    }
    return visit(point);
  };
  Walk(*impl_, counted, max_steps, std::nullopt, end_step).run();
}

Config Space::config(std::span<const int> point) const {
  Config config;
  for (std::size_t i = 0; i < impl_->params.size(); ++i) {
    const ParamSpec& param = impl_->kernel.params[i];
    config.emplace_back(param.name, param.values[static_cast<std::size_t>(point[i])]);
  }
  return config;
}

std::optional<std::vector<int>> Space::point(const Config& config) const {
  const std::vector<ParamSpec>& params = impl_->kernel.params;
  if (config.size() != params.size()) return std::nullopt;
  std::vector<int> point;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::vector<Value>& values = params[i].values;
    const auto at = std::find(values.begin(), values.end(), config[i].second);
    if (config[i].first != params[i].name || at == values.end()) return std::nullopt;
    point.push_back(static_cast<int>(at - values.begin()));
  }
  return point;
}

Space::Size Space::size(std::uint64_t max_steps, std::optional<double> max_seconds) const {
  Size size;
  size.raw = impl_->levels[0].points;
  const Walk::Visit count = [&](const std::vector<int>&) {
    ++size.valid;
    return true;
  };
  Walk walk(*impl_, count, max_steps, max_seconds, std::nullopt);
  walk.run();
  size.steps = walk.num_steps();
  size.end_step = walk.ended_at();
  for (std::size_t i = 0; i < impl_->constraints.size(); ++i) {
    size.removed.push_back({impl_->constraints[i].expr.text(), walk.removed()[i]});
  }
  return size;
}

std::optional<std::string> Space::broken_constraint(const Config& config) const {
  const KernelSpec& kernel = impl_->kernel;
  Bindings bindings(kernel, impl_->problem, impl_->device);
  std::vector<bool> given(kernel.params.size());
  for (const auto& [name, value] : config) {
    std::size_t i = 0;
    while (i < kernel.params.size() && kernel.params[i].name != name) ++i;
    if (i == kernel.params.size() || given[i]) {
      throw UsageError(fmt::format("kernel {} has {} parameter {}, in \"{}\"", kernel.name,
                                   i == kernel.params.size() ? "no" : "one", name,
                                   to_text(config)));
    }
    const std::vector<Value>& values = kernel.params[i].values;
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      std::vector<std::string> allowed;
      for (const Value& each : values) allowed.push_back(to_text(each));
      throw UsageError(fmt::format("parameter {} of kernel {} is {}, allowed are {}", name,
                                   kernel.name, to_text(value), fmt::join(allowed, ", ")));
    }
    given[i] = true;
    bindings.set(impl_->params[i].slot, slot_value(kernel, value));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    throw UsageError(fmt::format("kernel {} needs a value for parameter {}, found none in \"{}\"",
                                 kernel.name, kernel.params[i].name, to_text(config)));
  }
  for (const Let& let : impl_->lets) bindings.set_let(let.slot, let.expr);
  for (const Constraint& constraint : impl_->constraints) {
    if (!impl_->holds(constraint, bindings)) return constraint.expr.text();
  }
  return std::nullopt;
}

}  // namespace assay
