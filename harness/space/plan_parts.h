#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "space/bindings.h"
#include "space/plan.h"

// The parts of a plan; only the makers of a plan include this.

namespace assay {

inline constexpr std::int64_t kMostInt64 = std::numeric_limits<std::int64_t>::max();

// While a stream is held, so that launches follow each other, a driver takes a thousand of them.
inline constexpr std::int64_t kMostLaunches = 500;

struct Range {
  std::int64_t low, high;
};

inline constexpr Range kAnyInteger{std::numeric_limits<std::int64_t>::min(), kMostInt64};

/// Evaluates one kernel's expressions; errors name the place, the expression and the configuration.
class Evaluator {
 public:
  Evaluator(const KernelSpec& kernel, const Problem& problem, const Config& config,
            const DeviceInfo& device);
  /// Without a configuration: what reads a parameter or a let has no answer.
  Evaluator(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device);

  void set_pass(std::int64_t pass) { bindings_.set_pass(pass); }

  /// `what` and `args` are for messages. Nothing is formatted until there is one: a program waits
  /// for plans.
  template <typename... Args>
  std::int64_t eval(const ExprSpec& spec, Range allowed, fmt::format_string<const Args&...> what,
                    const Args&... args) const {
    return eval_called(spec, allowed, what, fmt::make_format_args(args...));
  }
  template <typename... Args>
  double eval_real(const ExprSpec& spec, fmt::format_string<const Args&...> what,
                   const Args&... args) const {
    return eval_real_called(spec, what, fmt::make_format_args(args...));
  }
  /// The first constraint that does not hold or has no answer, or null.
  const ExprSpec* broken_constraint() const;

  /// Throws PlanError.
  [[noreturn]] void fail(const std::string& message) const;
  template <typename Part, typename... Parts>
  [[noreturn]] void fail(fmt::format_string<Part, Parts...> format, Part&& part,
                         Parts&&... parts) const {
    fail(fmt::format(format, std::forward<Part>(part), std::forward<Parts>(parts)...));
  }

 private:
  std::int64_t eval_called(const ExprSpec& spec, Range allowed, fmt::string_view what,
                           fmt::format_args args) const;
  double eval_real_called(const ExprSpec& spec, fmt::string_view what, fmt::format_args args) const;

  const KernelSpec& kernel_;
  const Config& config_;
  Bindings bindings_;
};

/// "kernels/x.yaml:12:30: " for what stands in a file.
std::string place(const Location& where);
/// Refuses a file that does not hold what `buffer` does.
void check_file(const BufferPlan& buffer, const std::string& file, std::int64_t bytes,
                const Location& where, const Evaluator& evaluator);

/// The arguments and launches alone, without fills, references and work.
Plan make_launch_plan(const KernelSpec& kernel, const Problem& problem, const Config& config,
                      Evaluator& evaluator);

/// A struct has no members yet: make_plan knows the places of all arguments.
ArgPlan plan_arg(const ArgSpec& arg, const Evaluator& evaluator);
/// Without its fill.
BufferPlan plan_buffer(const BufferSpec& spec, const std::string& name, const Evaluator& evaluator);
/// Says how a buffer is filled, if it is. Throws SpecError for a file that it cannot be filled
/// from.
void plan_fill(const BufferSpec& spec, BufferPlan& plan, const Evaluator& evaluator);
ScalarPlan plan_scalar(const ScalarSpec& spec, const std::string& name, const Evaluator& evaluator);

/// A launch without its arguments.
LaunchPlan plan_launch(const LaunchSpec& spec, const std::string& entry,
                       const Evaluator& evaluator);
/// The buffer that a pass takes: see LaunchArgSpec.
const std::string& taken_by_pass(const std::vector<std::string>& names, std::int64_t pass,
                                 std::int64_t passes);

/// Refuses a buffer that does not fit the input that it is a copy of, or made of.
void check_copies(const Plan& plan, const Evaluator& evaluator);
void check_derivations(const Plan& plan, const Evaluator& evaluator);
[[noreturn]] void refuse_source(const BufferPlan& buffer, std::string_view what,
                                const BufferPlan& source, std::int64_t found,
                                const Evaluator& evaluator);

}  // namespace assay
