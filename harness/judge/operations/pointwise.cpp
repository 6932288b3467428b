#include <fmt/ranges.h>

#include <cmath>
#include <numbers>

#include "judge/operation.h"

namespace assay {
namespace {

/// Which elements meet. `b` is null for an operation of one operand.
struct Layout {
  std::vector<std::int64_t> extents;  // of the output
  const Operand* a = nullptr;
  Strided a_at = {};
  const Operand* b = nullptr;
  Strided b_at = {};
};

/// The terms of an operand of the call, where its elements are.
Strided terms_at(const OperationCall& call, const Operand* operand, const Strided& place) {
  for (const auto& [role, given] : call.operands) {
    if (&given == operand) return call.terms_of(role, place);
  }
  return {};
}

double value(Pointwise function, double a, double b, double slope) {
  switch (function) {
    case Pointwise::copy:
      return a;
    case Pointwise::add:
      return a + b;
    case Pointwise::multiply:
      return a * b;
    case Pointwise::relu:
      return a > 0 ? a : slope > 0 ? slope * a : 0;
    case Pointwise::silu:
      return a / (1 + std::exp(-a));
    // As support.cu has them: 1 + erf(x) and 1 + tanh(x) lose all digits where x is far below 0.
    case Pointwise::gelu:
      return 0.5 * a * std::erfc(-a / std::numbers::sqrt2);
    case Pointwise::gelu_tanh:
      return a / (1 + std::exp(-2 * std::sqrt(2 / std::numbers::pi) * (a + 0.044715 * a * a * a)));
    case Pointwise::gate:
      return a / (1 + std::exp(-a)) * b;
  }
  return a;
}

/// An operation that makes each element of `out` of one element of each of one or two operands.
class PointwiseOperation : public Operation {
 public:
  /// Throws Failure `oracle` saying which shapes do not fit; `name` is for that.
  using LayoutOf = Layout (*)(const OperationCall& call, const char* name);

  PointwiseOperation(const char* name, LayoutOf layout, Pointwise function,
                     const Arithmetic& arithmetic = {})
      : name_(name), layout_(layout), function_(function), arithmetic_(arithmetic) {}

  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    return {{layout_(call, name_).extents, arithmetic_}};
  }

  bool makes_terms(const OperationCall& call) const override {
    const Layout at = layout_(call, name_);
    return terms_at(call, at.a, at.a_at).data != 0 || terms_at(call, at.b, at.b_at).data != 0;
  }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Layout at = layout_(call, name_);
    const Operand& out = call.operand("out");
    engine.support().pointwise(function(call), at.a_at, at.b_at, out.dtype, out.data, rows_of(out),
                               terms_at(call, at.a, at.a_at), terms_at(call, at.b, at.b_at),
                               call.terms_of("out"), slope(call));
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    const Layout at = layout_(call, name_);
    const std::int64_t columns = at.extents.back();
    const auto element = [&](const Operand* operand, const Strided& place) {
      if (operand == nullptr) return 0.0;
      const std::int64_t i =
          place.first + index / columns * place.row_step + index % columns * place.column_step;
      return read(*operand, i, 1, 1)[0];
    };
    const double exact_value =
        value(function(call), element(at.a, at.a_at), element(at.b, at.b_at), slope(call));
    return ExactElement{exact_value, std::abs(exact_value)};
  }

 private:
  /// Below 0, of a relu that leaks.
  static double slope(const OperationCall& call) {
    return call.options.contains("slope") ? call.number("slope") : 0;
  }

  Pointwise function(const OperationCall& call) const {
    const bool approximates = function_ == Pointwise::gelu && call.flag("tanh");
    return approximates ? Pointwise::gelu_tanh : function_;
  }

  const char* name_;
  LayoutOf layout_;
  Pointwise function_;
  Arithmetic arithmetic_;
};

/// Of one operand.
Layout of_x(const OperationCall& call, const char*) {
  const Operand& x = call.operand("x");
  return {x.shape, &x, dense(x)};
}

/// out[i,j] = x[j,i]
Layout transposed(const OperationCall& call, const char*) {
  const Operand& x = call.operand("x");
  return {{x.shape.at(1), x.shape.at(0)}, &x, {x.data, 0, 1, x.shape.at(1), x.dtype}};
}

/// out[.., j] = x[.., j] + bias[j]
Layout of_x_and_bias(const OperationCall& call, const char*) {
  const Operand& x = call.operand("x");
  const Operand& bias = call.operand("bias");
  if (bias.elements() != x.shape.back()) {
    throw oracle_failure("bias: x has {} columns but bias {} elements", x.shape.back(),
                         bias.elements());
  }
  return {x.shape, &x, dense(x), &bias, per_column(&bias)};
}

/// Of two operands of one shape.
Layout of_a_and_b(const OperationCall& call, const char* name) {
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  if (a.shape != b.shape) {
    throw oracle_failure("{}: a is [{}] but b is [{}]", name, fmt::join(a.shape, ","),
                         fmt::join(b.shape, ","));
  }
  return {a.shape, &a, dense(a), &b, dense(b)};
}

/// out = silu(a) * b. Without b, each row of a holds both: the one half after the other, or
/// interleaved, one element of each in turn.
Layout of_gate(const OperationCall& call, const char* name) {
  if (call.find("b") != nullptr) return of_a_and_b(call, name);
  const Operand& both = call.operand("a");
  const std::int64_t width = both.shape.back();
  if (width % 2 != 0) {
    throw oracle_failure("swiglu: without b, the rows of a hold two halves, but have {} columns",
                         width);
  }
  Layout layout{both.shape, &both, dense(both), &both, dense(both)};
  layout.extents.back() = width / 2;
  const bool interleaved = call.flag("interleaved");
  layout.a_at.column_step = layout.b_at.column_step = interleaved ? 2 : 1;
  layout.b_at.first = interleaved ? 1 : width / 2;
  return layout;
}

}  // namespace

const Operation& operation::pointwise(OperationId id) {
  using Id = OperationId;
  static const std::map<OperationId, PointwiseOperation> operations = {
      {Id::add, {"add", of_a_and_b, Pointwise::add}},
      {Id::mul, {"mul", of_a_and_b, Pointwise::multiply}},
      {Id::bias, {"bias", of_x_and_bias, Pointwise::add}},
      {Id::relu, {"relu", of_x, Pointwise::relu}},
      {Id::silu, {"silu", of_x, Pointwise::silu, of_functions()}},
      {Id::gelu, {"gelu", of_x, Pointwise::gelu, of_functions()}},
      {Id::swiglu, {"swiglu", of_gate, Pointwise::gate, of_functions()}},
      {Id::transpose, {"transpose", transposed, Pointwise::copy}}};
  return operations.at(id);
}

}  // namespace assay
