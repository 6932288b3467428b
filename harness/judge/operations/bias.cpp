#include <fmt/format.h>

#include "judge/operations/pointwise.h"

namespace assay {
namespace {

/// out[.., j] = x[.., j] + bias[j]
class Bias : public PointwiseOperation {
 protected:
  Layout layout(const OperationCall& call) const override {
    const Operand& x = call.operand("x");
    const Operand& bias = call.operand("bias");
    if (bias.elements() != x.shape.back()) {
      throw oracle_failure(fmt::format("bias: x has {} columns but bias {} elements",
                                       x.shape.back(), bias.elements()));
    }
    return {x.shape, &x, dense(x), &bias, per_column(&bias)};
  }

  Pointwise function(const OperationCall&) const override { return Pointwise::add; }
  double value(const OperationCall&, double a, double b) const override { return a + b; }
};

}  // namespace

const Operation& operation::bias() {
  static const Bias bias;
  return bias;
}

}  // namespace assay
