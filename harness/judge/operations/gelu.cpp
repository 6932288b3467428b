#include <cmath>
#include <numbers>

#include "judge/operations/pointwise.h"

namespace assay {
namespace {

/// Exact, or with the option `tanh` the approximation of that name.
class Gelu : public PointwiseOperation {
 protected:
  Layout layout(const OperationCall& call) const override { return of_x(call); }

  Pointwise function(const OperationCall& call) const override {
    return call.flag("tanh") ? Pointwise::gelu_tanh : Pointwise::gelu;
  }

  // Both as support.cu has them: 1 + erf(x) and 1 + tanh(x) lose all digits where x is far below 0.
  double value(const OperationCall& call, double x, double) const override {
    if (!call.flag("tanh")) return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return x / (1 + std::exp(-2 * u));
  }

  Arithmetic arithmetic() const override { return of_functions(); }
};

}  // namespace

const Operation& operation::gelu() {
  static const Gelu gelu;
  return gelu;
}

}  // namespace assay
