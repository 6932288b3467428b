// An expression of a contract, evaluated on sizes that are easy to overflow.

#include <limits>

#include "base/expr.h"
#include "fuzz_target.h"

namespace assay {

void fuzz_expression(std::string_view text) {
  Symbols symbols;
  for (const char* name : {"M", "N", "K", "BLOCK", "row", "device.cc"}) symbols.add(name);
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  try {
    const Expr expr = Expr::parse(text, symbols);
    for (const std::int64_t size : {kLeast, std::int64_t{-1}, std::int64_t{0}, kMost}) {
      const std::int64_t values[] = {size, 3, kMost, 128, 4, 90};
      try {
        expr.eval(values);
      } catch (const EvalError&) {
      }
    }
  } catch (const ExprError&) {
  }
}

}  // namespace assay
