#include "base/expr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "base/expr_code.h"
#include "base/text.h"

namespace assay {

int Symbols::add(const std::string& name, bool real) {
  const auto [entry, added] = slots_.try_emplace(name, static_cast<int>(names_.size()));
  if (added) {
    names_.push_back(name);
    real_.push_back(real);
  }
  return entry->second;
}

int Symbols::find(std::string_view name) const {
  const auto entry = slots_.find(std::string(name));
  return entry == slots_.end() ? -1 : entry->second;
}

std::string Symbols::nearest(std::string_view name) const { return assay::nearest(name, names_); }

namespace {

using Code = Expr::Op::Code;

struct Overflow {};
struct DivisionByZero {};

void check_division(std::int64_t a, std::int64_t b) {
  if (b == 0) throw DivisionByZero();
  if (b == -1 && a == INT64_MIN) throw Overflow();
}

template <typename Number>
Number compare(Code code, Number a, Number b) {
  switch (code) {
    case Code::minimum:
      return std::min(a, b);
    case Code::maximum:
      return std::max(a, b);
    case Code::equal:
      return a == b;
    case Code::not_equal:
      return a != b;
    case Code::less:
      return a < b;
    case Code::less_equal:
      return a <= b;
    case Code::greater:
      return a > b;
    default:
      return a >= b;
  }
}

std::int64_t apply(Code code, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (code) {
    case Code::add:
      if (__builtin_add_overflow(a, b, &result)) throw Overflow();
      return result;
    case Code::subtract:
      if (__builtin_sub_overflow(a, b, &result)) throw Overflow();
      return result;
    case Code::multiply:
      if (__builtin_mul_overflow(a, b, &result)) throw Overflow();
      return result;
    case Code::divide:
      check_division(a, b);
      return a / b;
    case Code::remainder:
      if (b == -1) return 0;  // INT64_MIN % -1 traps although its answer exists
      check_division(a, b);
      return a % b;
    case Code::ceil_divide:
      check_division(a, b);
      return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
    default:
      return compare(code, a, b);
  }
}

double apply(Code code, double a, double b) {
  switch (code) {
    case Code::add:
      return a + b;
    case Code::subtract:
      return a - b;
    case Code::multiply:
      return a * b;
    case Code::divide:
    case Code::remainder:
    case Code::ceil_divide:
      if (b == 0) throw DivisionByZero();
      if (code == Code::remainder) return std::fmod(a, b);
      return code == Code::divide ? a / b : std::ceil(a / b);
    default:
      return compare(code, a, b);
  }
}

std::int64_t constant(std::int64_t number, std::int64_t) { return number; }
double constant(std::int64_t number, double) { return std::bit_cast<double>(number); }

std::int64_t to_integer(double value) {
  if (!(std::fabs(value) < 0x1p63)) throw Overflow();
  return static_cast<std::int64_t>(value);
}

/// Runs the instructions from `at` to `end`.
template <typename Number>
Number run(std::span<const Expr::Op> code, std::span<const std::int64_t> values, std::size_t at,
           std::size_t end) {
  std::array<Number, kMaxExprDepth + 1> stack;
  Number* top = stack.data();  // stack[0] is never read
  for (; at < end; ++at) {
    const Expr::Op& op = code[at];
    // A jump lands where `at` points after the loop's increment.
    const std::size_t before_target = static_cast<std::size_t>(op.target) - 1;
    switch (op.code) {
      case Code::constant:
        *++top = constant(op.number, Number{});
        break;
      case Code::load:
        *++top = static_cast<Number>(values[static_cast<std::size_t>(op.target)]);
        break;
      case Code::negate:
        *top = apply(Code::subtract, Number{0}, *top);
        break;
      case Code::logical_not:
        *top = *top == 0;
        break;
      case Code::truth:
        *top = *top != 0;
        break;
      case Code::and_jump:
        if (*top == 0) {
          at = before_target;
        } else {
          --top;
        }
        break;
      case Code::or_jump:
        if (*top != 0) {
          *top = 1;
          at = before_target;
        } else {
          --top;
        }
        break;
      case Code::jump_if_zero:
        if (*top-- == 0) at = before_target;
        break;
      case Code::jump:
        at = before_target;
        break;
      case Code::from_real:
        *++top = static_cast<Number>(
            to_integer(run<double>(code, values, at + 1, static_cast<std::size_t>(op.target))));
        at = before_target;
        break;
      case Code::load_real:
        *++top =
            static_cast<Number>(std::bit_cast<double>(values[static_cast<std::size_t>(op.target)]));
        break;
      case Code::square_root:
        *top = static_cast<Number>(std::sqrt(static_cast<double>(*top)));
        break;
      case Code::round_down:
        *top = static_cast<Number>(std::floor(static_cast<double>(*top)));
        break;
      case Code::round_up:
        *top = static_cast<Number>(std::ceil(static_cast<double>(*top)));
        break;
      case Code::round_nearest:
        *top = static_cast<Number>(std::round(static_cast<double>(*top)));
        break;
      default:
        --top;
        *top = apply(op.code, top[0], top[1]);
        break;
    }
  }
  return *top;
}

/// A value where it is known.
using Maybe = std::optional<std::int64_t>;

/// As run(), where value_of(slot) knows some slots and others not. The result is pushed on the
/// stack whose last value is at `top`; returns where the result lies. If the first operand of && or
/// || is unknown, the second may decide alone.
template <typename ValueOf>
Maybe* run_partly(std::span<const Expr::Op> code, std::size_t at, std::size_t end,
                  const ValueOf& value_of, Maybe* top) {
  while (at < end) {
    const Expr::Op& op = code[at++];
    const auto target = static_cast<std::size_t>(op.target);
    switch (op.code) {
      case Code::constant:
        *++top = op.number;
        break;
      case Code::load:
        *++top = value_of(op.target);
        break;
      case Code::negate:
        if (*top) *top = apply(Code::subtract, 0, **top);
        break;
      case Code::logical_not:
        if (*top) *top = **top == 0;
        break;
      case Code::truth:
        if (*top) *top = **top != 0;
        break;
      case Code::and_jump:
      case Code::or_jump: {
        const Maybe decisive = op.code == Code::or_jump;
        if (*top) *top = **top != 0;
        if (*top != decisive) {
          const Maybe second = *run_partly(code, at, target, value_of, top);
          if (*top || second == decisive) *top = second;
        }
        at = target;
        break;
      }
      case Code::jump_if_zero: {
        const Maybe condition = *top--;
        if (!condition) {
          *++top = std::nullopt;
          at = static_cast<std::size_t>(code[target - 1].target);  // the jump over the other side
        } else if (*condition == 0) {
          at = target;
        }
        break;
      }
      case Code::jump:
        at = target;
        break;
      case Code::from_real:
        *++top = std::nullopt;
        at = target;
        break;
      default:
        --top;
        top[0] = top[0] && top[1] ? Maybe(apply(op.code, *top[0], *top[1])) : std::nullopt;
        break;
    }
  }
  return top;
}

}  // namespace

Expr Expr::parse(std::string_view text, const Symbols& symbols) {
  return compiled(text, compile_expr(text, symbols, false));
}

Expr Expr::parse_real(std::string_view text, const Symbols& symbols) {
  Expr expr = compiled(text, compile_expr(text, symbols, true));
  expr.real_ = true;
  return expr;
}

Expr Expr::compiled(std::string_view text, std::vector<Op> code) {
  Expr expr;
  expr.text_ = text;
  for (const Op& op : code) {
    if (op.code == Code::load || op.code == Code::load_real) expr.slots_.push_back(op.target);
  }
  std::ranges::sort(expr.slots_);
  expr.slots_.erase(std::unique(expr.slots_.begin(), expr.slots_.end()), expr.slots_.end());
  expr.code_ = std::make_shared<const std::vector<Op>>(std::move(code));
  return expr;
}

Expr Expr::constant(std::int64_t value) {
  Expr expr;
  expr.text_ = std::to_string(value);
  expr.code_ = std::make_shared<const std::vector<Op>>(1, Op{Code::constant, 0, value});
  return expr;
}

std::int64_t Expr::eval(std::span<const std::int64_t> values) const {
  if (!code_) throw EvalError("nothing to evaluate");
  try {
    return run<std::int64_t>(*code_, values, 0, code_->size());
  } catch (const Overflow&) {
    throw EvalError("\"{}\" does not fit in 64 bits", text_);
  } catch (const DivisionByZero&) {
    throw EvalError("\"{}\" divides by zero", text_);
  }
}

bool Expr::may_hold(std::span<const std::int64_t> values, std::span<const std::size_t> levels,
                    std::size_t level) const {
  try {
    const auto value_of = [&](int slot) {
      const auto at = static_cast<std::size_t>(slot);
      return levels[at] <= level ? Maybe(values[at]) : std::nullopt;
    };
    std::array<Maybe, kMaxExprDepth + 1> stack;
    return *run_partly(std::span(*code_), 0, code_->size(), value_of, stack.data()) != 0;
  } catch (const Overflow&) {
    return true;
  } catch (const DivisionByZero&) {
    return true;
  }
}

double Expr::eval_real(std::span<const std::int64_t> values) const {
  if (!code_) throw EvalError("nothing to evaluate");
  double value = 0;
  try {
    value = run<double>(*code_, values, 0, code_->size());
  } catch (const DivisionByZero&) {
    throw EvalError("\"{}\" divides by zero", text_);
  }
  if (!std::isfinite(value)) throw EvalError("\"{}\" is no finite number", text_);
  return value;
}

}  // namespace assay
