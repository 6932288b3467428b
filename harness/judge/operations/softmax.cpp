#include <algorithm>
#include <cmath>

#include "judge/operation.h"

namespace assay {
namespace {

/// Of each row.
class Softmax : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const Operand& x = call.operand("x");
    Arithmetic arithmetic = of_functions();
    return {{x.shape, arithmetic += sum_of_terms(x.shape.back())}};
  }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Operand& x = call.operand("x");
    const Operand& out = call.operand("out");
    engine.support().rowwise(Rowwise::softmax, dense(x), {}, {}, 0, out.dtype, out.data,
                             rows_of(x));
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    const Operand& x = call.operand("x");
    const std::int64_t columns = x.shape.back(), column = index % columns;
    const std::vector<double> row = read(x, index - column, 1, columns);
    const double largest = *std::ranges::max_element(row);
    double sum = 0;
    for (const double value : row) sum += std::exp(value - largest);
    const double value = std::exp(row[static_cast<std::size_t>(column)] - largest) / sum;
    return ExactElement{value, value};
  }
};

}  // namespace

const Operation& operation::softmax() { return only<Softmax>(); }

}  // namespace assay
