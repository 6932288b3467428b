#include "judge/operations/pointwise.h"

namespace assay {

const Operation& operation::add() {
  static const BinaryOperation add("add", Pointwise::add, [](double a, double b) { return a + b; });
  return add;
}

}  // namespace assay
