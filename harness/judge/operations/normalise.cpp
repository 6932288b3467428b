#include "judge/operations/normalise.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace assay {

std::vector<OutputShape> NormaliseOperation::outputs(const OperationCall& call) const {
  const Operand& x = call.operand("x");
  for (const char* name : {"weight", "bias"}) {
    const Operand* operand = call.find(name);
    if (operand != nullptr && operand->elements() != x.shape.back()) {
      throw oracle_failure(fmt::format("{}: x has {} columns but {} {} elements", name_,
                                       x.shape.back(), name, operand->elements()));
    }
  }
  // A mean's error counts in ratio to the deviation, and the deviation's is half that of a sum.
  Arithmetic arithmetic = of_functions();
  return {{x.shape, arithmetic += sum_of_terms((x.shape.back() + 3) / 4)}};
}

void NormaliseOperation::compute(const OperationCall& call, OperationEngine& engine) const {
  const Operand& x = call.operand("x");
  const Operand& out = call.operand("out");
  engine.support().rowwise(centred_ ? Rowwise::layer_norm : Rowwise::rms_norm, dense(x),
                           per_column(call.find("weight")), per_column(call.find("bias")),
                           call.number("epsilon"), out.dtype, out.data, rows_of(x));
}

std::optional<ExactElement> NormaliseOperation::exact(const OperationCall& call, std::size_t,
                                                      std::int64_t index,
                                                      const ReadElements& read) const {
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

}  // namespace assay
