#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "space/bindings.h"
#include "space/plan.h"

// The parts of a plan; only the makers of a plan include this.

namespace assay {

inline constexpr std::int64_t kMostInt64 = std::numeric_limits<std::int64_t>::max();

struct Range {
  std::int64_t low, high;
};

inline constexpr Range kAnyInteger{std::numeric_limits<std::int64_t>::min(), kMostInt64};

/// Evaluates one kernel's expressions; errors name the place, the expression and the configuration.
class Evaluator {
 public:
  Evaluator(const KernelSpec& kernel, const Problem& problem, const Config& config,
            const DeviceInfo& device);

  void set_pass(std::int64_t pass) { bindings_.set_pass(pass); }

  double eval_real(const ExprSpec& spec, const std::string& what) const;
  std::int64_t eval(const ExprSpec& spec, const std::string& what, Range allowed) const;

  /// Throws PlanError.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  const KernelSpec& kernel_;
  const Config& config_;
  Bindings bindings_;
};

/// "kernels/x.yaml:12:30: " for what stands in a file.
std::string place(const Location& where);
/// Refuses a file that does not hold what `buffer` does.
void check_file(const BufferPlan& buffer, const std::string& file, std::int64_t bytes,
                const Location& where, const Evaluator& evaluator);

/// A struct has no members yet: make_plan knows the places of all arguments.
ArgPlan plan_arg(const ArgSpec& arg, const Evaluator& evaluator);
BufferPlan plan_buffer(const BufferSpec& spec, const std::string& name, const Evaluator& evaluator);
ScalarPlan plan_scalar(const ScalarSpec& spec, const std::string& name, const Evaluator& evaluator);

/// Refuses a buffer that does not fit the input that it is a copy of, or made of.
void check_sources(const Plan& plan, const Evaluator& evaluator);

}  // namespace assay
