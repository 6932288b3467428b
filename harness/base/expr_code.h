#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/expr.h"

// What the parser and the evaluator of expressions share. Nothing else includes this.
//
// An expression becomes a flat list of instructions for a stack machine. `&&`, `||` and `?:` are
// forward jumps, so that the side that is not needed is not evaluated. Constraints are evaluated at
// each of millions of points; hence no tree walk, and no allocation in eval().

namespace assay {

struct Expr::Op {
  enum class Code : std::uint8_t {
    constant,
    load,
    negate,
    logical_not,
    truth,  // anything but 0 becomes 1
    add,
    subtract,
    multiply,
    divide,
    remainder,
    ceil_divide,
    minimum,
    maximum,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    and_jump,      // 0 on top: stays, jump; else popped
    or_jump,       // not 0 on top: becomes 1, jump; else popped
    jump_if_zero,  // pops
    jump,
    from_real,  // what follows, up to the target, is a real expression that ends with a rounding
    // Of real expressions alone:
    load_real,
    square_root,
    round_down,
    round_up,
    round_nearest,
  };

  Code code;
  int target;           // slot of a load, destination of a jump, end of what is real
  std::int64_t number;  // of a constant; in a real expression the bits of a double
};

/// The most operands that may wait on the evaluator's stack; the parser refuses to need more.
inline constexpr int kMaxExprDepth = 64;

/// `real`: see Expr::parse_real. Throws ExprError.
std::vector<Expr::Op> compile_expr(std::string_view text, const Symbols& symbols, bool real);

}  // namespace assay
