#include "judge/operations/pointwise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

/// The terms of an operand of the call, where its elements are.
Strided terms_at(const OperationCall& call, const Operand* operand, const Strided& place) {
  for (const auto& [role, given] : call.operands) {
    if (&given == operand) return call.terms_of(role, place);
  }
  return {};
}

}  // namespace

std::vector<OutputShape> PointwiseOperation::outputs(const OperationCall& call) const {
  return {{layout(call).extents, arithmetic()}};
}

bool PointwiseOperation::makes_terms(const OperationCall& call) const {
  const Layout at = layout(call);
  return terms_at(call, at.a, at.a_at).data != 0 || terms_at(call, at.b, at.b_at).data != 0;
}

void PointwiseOperation::compute(const OperationCall& call, OperationEngine& engine) const {
  const Layout at = layout(call);
  const Operand& out = call.operand("out");
  engine.support().pointwise(function(call), at.a_at, at.b_at, out.dtype, out.data, rows_of(out),
                             terms_at(call, at.a, at.a_at), terms_at(call, at.b, at.b_at),
                             call.terms_of("out"));
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
