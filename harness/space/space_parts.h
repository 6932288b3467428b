#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/draw.h"
#include "space/bindings.h"
#include "space/space.h"

// How a space is walked; only the parts of Space include this.

namespace assay {

struct Space::Impl {
  struct Let {
    int slot;
    Expr expr;
    std::size_t level;                     // where all that it reads is bound, directly or not
    bool is_read;                          // by a constraint without a table
    std::vector<std::size_t> params = {};  // what it depends on, ascending
    std::size_t table_entries = 0;         // 0: its values are not kept
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
    std::vector<std::size_t> ahead;        // constraints of deeper levels that may fail here
  };

  KernelSpec kernel;
  Problem problem;
  DeviceInfo device;
  std::vector<Param> params;
  std::vector<Let> lets;
  std::vector<Constraint> constraints;
  std::vector<std::size_t> level_of_slot;       // parameters that are bound once a slot is known
  std::vector<int> param_of_slot, let_of_slot;  // -1: the slot is of something else
  std::vector<Level> levels;  // [0]: only problem and device are bound; [i + 1]: param i, too

  Impl(const KernelSpec& kernel_spec, const Problem& the_problem, const DeviceInfo& device_info);

  /// Parameters that constraints tie to each other, each group ascending. What is valid for one
  /// group does not depend on the others, so groups are counted and drawn one by one. A parameter
  /// that no constraint reads is a group of its own.
  std::vector<std::vector<std::size_t>> groups() const;
  std::vector<std::size_t> all_params() const;
  /// How many points there are before the constraints. Counts stop at the largest number; they
  /// never wrap.
  std::uint64_t raw(const std::vector<std::size_t>& of_params) const;

  static std::size_t level_of(const std::vector<std::size_t>& of_params);
  std::size_t table_entries(const std::vector<std::size_t>& of_params, std::size_t level) const;
  std::vector<std::size_t> params_of(const Expr& expr) const;
  std::vector<std::size_t> lets_of(const Expr& expr) const;
  void place(std::size_t index);
  bool holds(const Constraint& constraint, Bindings& bindings) const;
};

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b);
std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b);

/// How far a walk goes at most.
struct WalkLimits {
  std::uint64_t steps = kMaxSpaceSteps;  // partial configurations
  double seconds = std::numeric_limits<double>::infinity();
};

/// Walks over a group of parameters, or all of them, with all that it changes on the way.
class Space::Walk {
 public:
  using Visit = std::function<bool(const std::vector<int>& point)>;

  Walk(const Impl& space, std::vector<std::size_t> params);

  /// Calls `visit` with each valid point, in the order of nested loops, until it returns false.
  /// With `random`, the values of each parameter come in an order that is drawn. Only the
  /// parameters of the walk count in a point. Returns false where a limit ended the walk. Throws
  /// Interrupted.
  bool run(const WalkLimits& limits, const Visit& visit, Random* random = nullptr);

  /// Of all runs.
  std::uint64_t num_steps() const { return num_steps_; }
  /// How many points of the group each constraint removed: the first that failed.
  const std::vector<std::uint64_t>& removed() const { return removed_; }

 private:
  struct LimitReached {};
  enum class Answer : std::uint8_t { unknown, holds, fails };

  bool descend(std::size_t depth);
  int value_of(std::size_t depth, std::size_t turn);
  bool survives(std::size_t level, std::size_t depth);
  void check_limits() const;
  bool holds(std::size_t index);
  void set_let(std::size_t index);
  std::size_t entry_of(const std::vector<std::size_t>& params) const;

  const Impl& space_;
  const std::vector<std::size_t> params_;
  std::vector<std::uint64_t> below_;  // by how many parameters are bound: points of the subtree
  Bindings bindings_;
  std::vector<int> point_;
  std::vector<std::uint64_t> removed_;
  std::vector<std::vector<Answer>> tables_;  // of each constraint, by its parameters' indices
  std::vector<std::vector<std::int64_t>> let_tables_;  // likewise of each let
  std::vector<std::vector<int>> orders_;  // of the values of each parameter, where drawn
  std::uint64_t num_steps_ = 0;
  // Of the run under way.
  WalkLimits limits_;
  std::uint64_t first_step_ = 0;
  std::chrono::steady_clock::time_point start_;
  Random* random_ = nullptr;
  const Visit* visit_ = nullptr;
};

}  // namespace assay
