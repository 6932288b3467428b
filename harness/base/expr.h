#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace assay {

/// A mistake in an expression; `column` is the 0-based offset in its text.
struct ExprError : std::runtime_error {
  ExprError(std::size_t at, const std::string& message) : std::runtime_error(message), column(at) {}
  std::size_t column;
};

/// Arithmetic that has no 64-bit answer (division by zero, overflow) while evaluating.
struct EvalError : FormattedError {
  using FormattedError::FormattedError;
};

/// Names that expressions may use. Each has a slot in the array of values that they are evaluated
/// on. A word (`grouped`) is a name whose value never changes: its own slot number.
class Symbols {
 public:
  /// The slot of `name`, adding it if new. A real one holds the bits of a double.
  int add(const std::string& name, bool real = false);
  bool is_real(int slot) const { return real_[static_cast<std::size_t>(slot)]; }
  /// The slot of `name`, or -1.
  int find(std::string_view name) const;
  const std::string& name(int slot) const { return names_[static_cast<std::size_t>(slot)]; }
  std::size_t size() const { return names_.size(); }
  /// The known name nearest in spelling, for "did you mean"; empty when none is near.
  std::string nearest(std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::vector<bool> real_;
  std::unordered_map<std::string, int> slots_;
};

/// A 64-bit integer expression: + - * / % comparisons && || ! ?: and cdiv(a,b), min(a,b,..),
/// max(a,b,..). Division truncates. Comparisons and logic give 0 or 1. && || ?: evaluate only the
/// side they need. floor(x), ceil(x) and round(x) make an integer of a real expression.
///
/// It is our own because muParser's integer parser computes in 32 bits, too few for 2*M*N*K.
class Expr {
 public:
  Expr() = default;
  /// Throws ExprError at the first thing that is not an expression over `symbols`.
  static Expr parse(std::string_view text, const Symbols& symbols);
  /// The same of real numbers: also 1.75, 1e-6 and sqrt(x), and 7 / 4 is 1.75. For eval_real().
  static Expr parse_real(std::string_view text, const Symbols& symbols);
  static Expr constant(std::int64_t value);

  /// `values` has one entry per slot of the symbols it was parsed with. Throws EvalError.
  std::int64_t eval(std::span<const std::int64_t> values) const;
  /// Of an expression from parse_real(). Throws EvalError also for what is not finite.
  double eval_real(std::span<const std::int64_t> values) const;
  /// Whether the expression can be other than 0, where only slots with a level up to `level` have a
  /// value: `A == 1 && B` cannot, if A is 2 and B has none. `levels` has an entry per slot. True
  /// where the slots that have a value overflow or divide by zero.
  bool may_hold(std::span<const std::int64_t> values, std::span<const std::size_t> levels,
                std::size_t level) const;

  /// The slots it reads, ascending, without repeats.
  const std::vector<int>& slots() const { return slots_; }
  const std::string& text() const { return text_; }
  /// Whether it came from parse_real().
  bool is_real() const { return real_; }

  struct Op;  // one instruction of the compiled form

 private:
  static Expr compiled(std::string_view text, std::vector<Op> code);

  std::string text_;
  bool real_ = false;
  std::vector<int> slots_;
  std::shared_ptr<const std::vector<Op>> code_;
};

}  // namespace assay
