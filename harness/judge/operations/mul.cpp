#include "judge/operations/pointwise.h"

namespace assay {

const Operation& operation::mul() {
  static const BinaryOperation mul("mul", Pointwise::multiply,
                                   [](double a, double b) { return a * b; });
  return mul;
}

}  // namespace assay
