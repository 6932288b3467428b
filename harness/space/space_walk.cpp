// The walk is depth first over the parameters as declared. What a constraint needs is known before
// the walk. It is tested at the level of the last parameter that it reads, directly or through
// lets. A let is evaluated at the level of its own last parameter, once for the whole subtree
// below.
//
// A constraint may not read some of the parameters that are bound before its level. Without care it
// would then be evaluated again, with the same answer, for each of their values. So if its own
// parameters have few combinations, its answers are kept in a table for the length of the walk. So
// are the values of a let, which takes half of the time of moe_layer's walk and a fifth of
// gemm_wgmma's. A lookup costs 3 ns, an evaluation 15 ns or more, and one that divides by zero 3.6
// us (one core of 2.3 GHz).
//
// A list of configurations, as `A == 1 && B == 2 || A == 3 && B == 4`, reads all parameters. If A
// is 2, the list fails whatever B is. So a constraint without a table is tested ahead of its level
// as well, wherever a parameter or a let that it names becomes known.
#include <limits>
#include <numeric>

#include "base/elapsed.h"
#include "base/interrupt.h"
#include "space/space_parts.h"

namespace assay {
namespace {

// A step takes 20 to 100 ns, with many lets more.
constexpr std::uint64_t kStepsBetweenChecks = 256;
// What a let's table has where the let was not evaluated, or has no value.
constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

}  // namespace

Space::Walk::Walk(const Impl& space, std::vector<std::size_t> params)
    : space_(space),
      params_(std::move(params)),
      below_(params_.size() + 1, 1),
      bindings_(space.kernel, space.problem, space.device),
      point_(space.params.size()),
      removed_(space.constraints.size()),
      tables_(space.constraints.size()),
      let_tables_(space.lets.size()) {
  for (std::size_t depth = params_.size(); depth-- > 0;) {
    const std::size_t num_values = space.params[params_[depth]].values.size();
    below_[depth] = saturating_multiply(below_[depth + 1], num_values);
  }
}

bool Space::Walk::run(const WalkLimits& limits, const Visit& visit, Random* random) {
  if (random != nullptr && orders_.empty()) {
    for (const std::size_t param : params_) {
      std::vector<int>& order = orders_.emplace_back(space_.params[param].values.size());
      std::iota(order.begin(), order.end(), 0);
    }
  }
  limits_ = limits;
  first_step_ = num_steps_;
  start_ = std::chrono::steady_clock::now();
  random_ = random;
  visit_ = &visit;
  try {
    if (survives(0, 0)) descend(0);
  } catch (const LimitReached&) {
    return false;
  }
  return true;
}

/// Visits what lies below the first `depth` parameters, which are bound; false once the visitor has
/// enough.
bool Space::Walk::descend(std::size_t depth) {
  if (depth == params_.size()) return (*visit_)(point_);
  const std::size_t param = params_[depth];
  const Impl::Param& bound = space_.params[param];
  for (std::size_t turn = 0; turn < bound.values.size(); ++turn) {
    const int value = random_ == nullptr ? static_cast<int>(turn) : value_of(depth, turn);
    point_[param] = value;
    bindings_.set(bound.slot, bound.values[static_cast<std::size_t>(value)]);
    if (survives(param + 1, depth + 1) && !descend(depth + 1)) return false;
  }
  return true;
}

/// The values of a parameter are shuffled as far as they are asked for.
int Space::Walk::value_of(std::size_t depth, std::size_t turn) {
  std::vector<int>& order = orders_[depth];
  std::swap(order[turn], order[turn + below(*random_, order.size() - turn)]);
  return order[turn];
}

bool Space::Walk::survives(std::size_t level_index, std::size_t depth) {
  if (++num_steps_ % kStepsBetweenChecks == 0) check_limits();
  const Impl::Level& level = space_.levels[level_index];
  for (const std::size_t let : level.lets) set_let(let);
  const auto remove = [&](std::size_t constraint) {
    removed_[constraint] = saturating_add(removed_[constraint], below_[depth]);
    return false;
  };
  for (const std::size_t constraint : level.constraints) {
    if (!holds(constraint)) return remove(constraint);
  }
  for (const std::size_t constraint : level.ahead) {
    const Expr& expr = space_.constraints[constraint].expr;
    if (!bindings_.may_hold(expr, space_.level_of_slot, level_index)) return remove(constraint);
  }
  return true;
}

/// A space can have more points than anybody has time.
void Space::Walk::check_limits() const {
  if (interrupted()) throw Interrupted();
  if (num_steps_ - first_step_ >= limits_.steps || seconds_since(start_) > limits_.seconds) {
    throw LimitReached();
  }
}

bool Space::Walk::holds(std::size_t index) {
  const Impl::Constraint& constraint = space_.constraints[index];
  if (constraint.table_entries == 0) return space_.holds(constraint, bindings_);
  const std::size_t entry = entry_of(constraint.params);
  if (tables_[index].empty()) tables_[index].assign(constraint.table_entries, Answer::unknown);
  Answer& answer = tables_[index][entry];
  if (answer == Answer::unknown) {
    for (const std::size_t let : constraint.lets) {
      bindings_.set_let(space_.lets[let].slot, space_.lets[let].expr);
    }
    answer = space_.holds(constraint, bindings_) ? Answer::holds : Answer::fails;
  }
  return answer == Answer::holds;
}

void Space::Walk::set_let(std::size_t index) {
  const Impl::Let& let = space_.lets[index];
  if (let.table_entries == 0) return bindings_.set_let(let.slot, let.expr);
  std::vector<std::int64_t>& table = let_tables_[index];
  if (table.empty()) table.assign(let.table_entries, kUnknown);
  std::int64_t& value = table[entry_of(let.params)];
  if (value != kUnknown) return bindings_.set_let(let.slot, value);
  bindings_.set_let(let.slot, let.expr);
  value = bindings_.let(let.slot).value_or(kUnknown);
}

std::size_t Space::Walk::entry_of(const std::vector<std::size_t>& params) const {
  std::size_t entry = 0;
  for (const std::size_t param : params) {
    entry = entry * space_.params[param].values.size() + static_cast<std::size_t>(point_[param]);
  }
  return entry;
}

}  // namespace assay
