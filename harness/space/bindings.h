#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/device_info.h"
#include "base/expr.h"
#include "base/value.h"
#include "spec/kernel_spec.h"

namespace assay {

/// The values that a kernel's expressions are evaluated on. Words, the problem's dimensions and the
/// device are known from the start. Parameters and lets are filled in as they become known.
class Bindings {
 public:
  /// Dims and traits have no value: what reads one has no answer. Keeps a reference to `kernel`.
  Bindings(const KernelSpec& kernel, const DeviceInfo& device);

  /// Throws UsageError when `problem` lacks one of the kernel's dims or traits; others in it are
  /// ignored, as a sweep's problems serve kernels with different dims. Keeps a reference to
  /// `kernel`.
  Bindings(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device);

  /// A trait.
  void set_real(int slot, double value) { set(slot, std::bit_cast<std::int64_t>(value)); }
  void set(int slot, std::int64_t value) { values_[static_cast<std::size_t>(slot)] = value; }

  /// What reads a slot that is left open has no answer.
  void leave_open(int slot);

  /// Evaluates a let into its slot. A let may have no answer, for example when it divides by zero.
  /// Then no expression that names it has an answer. That is no error until one of them is
  /// evaluated.
  void set_let(int slot, const Expr& expr);
  /// Gives a let the value that it was evaluated to before.
  void set_let(int slot, std::int64_t value) {
    num_unanswered_ -= std::exchange(unanswered_[static_cast<std::size_t>(slot)], std::uint8_t{0});
    set(slot, value);
  }

  /// What a let's slot holds; nothing for one that has no answer.
  std::optional<std::int64_t> let(int slot) const {
    const auto at = static_cast<std::size_t>(slot);
    return unanswered_[at] != 0 ? std::nullopt : std::optional(values_[at]);
  }

  /// The number of a pass of repeated launches.
  void set_pass(std::int64_t pass) { values_.back() = pass; }

  /// Throws EvalError.
  std::int64_t eval(const Expr& expr) const;
  double eval_real(const Expr& expr) const;

  /// As Expr::may_hold; true while some let has no answer.
  bool may_hold(const Expr& expr, std::span<const std::size_t> levels, std::size_t level) const;

 private:
  void check_answered(const Expr& expr) const;

  const Symbols& symbols_;
  std::vector<std::int64_t> values_;      // by slot
  std::vector<std::uint8_t> unanswered_;  // by slot: 1 for what has no value
  int num_unanswered_ = 0;                // nearly always 0
};

/// The slot of a name, or -1. It is likely `guess`: names stand in the order in which a contract
/// declares them, and comparing two takes a fraction of looking one up.
int slot_of(const Symbols& symbols, std::size_t guess, std::string_view name);

/// What the slot of a parameter holds: the integer, or the slot of the word. Throws UsageError for
/// a word that the kernel does not know.
std::int64_t slot_value(const KernelSpec& kernel, const Value& value);

}  // namespace assay
