#include <cmath>

#include "judge/operations/pointwise.h"

namespace assay {

const Operation& operation::silu() {
  static const UnaryOperation silu(
      Pointwise::silu, [](double x) { return x / (1 + std::exp(-x)); }, of_functions());
  return silu;
}

}  // namespace assay
