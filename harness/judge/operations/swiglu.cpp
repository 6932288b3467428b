#include <fmt/format.h>

#include <cmath>

#include "judge/operations/pointwise.h"

namespace assay {
namespace {

/// out = silu(a) * b. Without b, each row of a holds both: the one half after the other, or
/// interleaved, one element of each in turn.
class Swiglu : public PointwiseOperation {
 protected:
  Layout layout(const OperationCall& call) const override {
    if (call.find("b") != nullptr) return of_a_and_b(call, "swiglu");
    const Operand& both = call.operand("a");
    const std::int64_t width = both.shape.back();
    if (width % 2 != 0) {
      throw oracle_failure(fmt::format(
          "swiglu: without b, the rows of a hold two halves, but have {} columns", width));
    }
    Layout layout{both.shape, &both, dense(both), &both, dense(both)};
    layout.extents.back() = width / 2;
    const bool interleaved = call.flag("interleaved");
    layout.a_at.column_step = layout.b_at.column_step = interleaved ? 2 : 1;
    layout.b_at.first = interleaved ? 1 : width / 2;
    return layout;
  }

  Pointwise function(const OperationCall&) const override { return Pointwise::gate; }
  double value(const OperationCall&, double a, double b) const override {
    return a / (1 + std::exp(-a)) * b;
  }
  Arithmetic arithmetic() const override { return of_functions(); }
};

}  // namespace

const Operation& operation::swiglu() {
  static const Swiglu swiglu;
  return swiglu;
}

}  // namespace assay
