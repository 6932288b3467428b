#include "judge/operations/pointwise.h"

namespace assay {

const Operation& operation::relu() {
  static const UnaryOperation relu(Pointwise::relu, [](double x) { return x > 0 ? x : 0; }, {});
  return relu;
}

}  // namespace assay
