#include <cmath>
#include <numeric>

#include "judge/operation.h"

namespace assay {
namespace {

/// Divides each row of x by the root of its mean square, or, centred, by its standard deviation
/// after the mean was subtracted. Then weight and bias of the columns are applied, where there are
/// any: `{layer_norm: {x: A, weight: W, bias: B, epsilon: 0.00001, out: C}}`.
class Normalise : public Operation {
 public:
  Normalise(const char* name, bool centred) : name_(name), centred_(centred) {}

  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const Operand& x = call.operand("x");
    for (const char* name : {"weight", "bias"}) {
      const Operand* operand = call.find(name);
      if (operand != nullptr && operand->elements() != x.shape.back()) {
        throw oracle_failure("{}: x has {} columns but {} {} elements", name_, x.shape.back(), name,
                             operand->elements());
      }
    }
    // A mean's error counts in ratio to the deviation, and the deviation's is half that of a sum.
    Arithmetic arithmetic = of_functions();
    return {{x.shape, arithmetic += sum_of_terms((x.shape.back() + 3) / 4)}};
  }

  /// A kernel may fold the weights into those of a product, and make the product of the biases
  /// ahead.
  bool makes_parts(const OperationCall& call) const override {
    return call.find("bias") != nullptr;
  }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Operand& x = call.operand("x");
    const Operand& out = call.operand("out");
    engine.support().rowwise(centred_ ? Rowwise::layer_norm : Rowwise::rms_norm, dense(x),
                             per_column(call.find("weight")), per_column(call.find("bias")),
                             call.number("epsilon"), out.dtype, out.data, rows_of(x), {},
                             call.parts_of("out"));
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    const Operand& x = call.operand("x");
    const std::int64_t columns = x.shape.back(), column = index % columns;
    const std::vector<double> row = read(x, index - column, 1, columns);
    const auto count = static_cast<double>(columns);
    const double mean = centred_ ? std::accumulate(row.begin(), row.end(), 0.0) / count : 0;
    double squares = 0;
    for (const double value : row) squares += (value - mean) * (value - mean);
    const auto of_column = [&](const char* name, double otherwise) {
      const Operand* operand = call.find(name);
      return operand == nullptr ? otherwise : read(*operand, column, 1, 1)[0];
    };
    const double weight = of_column("weight", 1), bias = of_column("bias", 0);
    const double normal = (row[static_cast<std::size_t>(column)] - mean) /
                          std::sqrt(squares / count + call.number("epsilon"));
    return ExactElement{normal * weight + bias, std::hypot(weight, bias)};
  }

 private:
  const char* name_;
  bool centred_;
};

}  // namespace

const Operation& operation::layer_norm() {
  static const Normalise layer_norm("layer_norm", true);
  return layer_norm;
}

const Operation& operation::rms_norm() {
  static const Normalise rms_norm("rms_norm", false);
  return rms_norm;
}

}  // namespace assay
