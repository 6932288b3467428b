#include "judge/operations/pointwise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace assay {

std::vector<OutputShape> PointwiseOperation::outputs(const OperationCall& call) const {
  return {{layout(call).extents, arithmetic()}};
}

void PointwiseOperation::compute(const OperationCall& call, OperationEngine& engine) const {
  const Layout at = layout(call);
  const Operand& out = call.operand("out");
  engine.support().pointwise(function(call), at.a_at, at.b_at, out.dtype, out.data, rows_of(out));
}

std::optional<ExactElement> PointwiseOperation::exact(const OperationCall& call, std::size_t,
                                                      std::int64_t index,
                                                      const ReadElements& read) const {
  const Layout at = layout(call);
  const std::int64_t columns = at.extents.back();
  const auto element = [&](const Operand* operand, const Strided& place) {
    if (operand == nullptr) return 0.0;
    const std::int64_t i =
        place.first + index / columns * place.row_step + index % columns * place.column_step;
    return read(*operand, i, 1, 1)[0];
  };
  const double exact_value = value(call, element(at.a, at.a_at), element(at.b, at.b_at));
  return ExactElement{exact_value, std::abs(exact_value)};
}

PointwiseOperation::Layout PointwiseOperation::of_x(const OperationCall& call) {
  const Operand& x = call.operand("x");
  return {x.shape, &x, dense(x), nullptr, {}};
}

PointwiseOperation::Layout PointwiseOperation::of_a_and_b(const OperationCall& call,
                                                          const char* operation) {
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  if (a.shape != b.shape) {
    throw oracle_failure(fmt::format("{}: a is [{}] but b is [{}]", operation,
                                     fmt::join(a.shape, ","), fmt::join(b.shape, ",")));
  }
  return {a.shape, &a, dense(a), &b, dense(b)};
}

}  // namespace assay
