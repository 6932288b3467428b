#include <algorithm>
#include <cmath>

#include "judge/operation.h"

namespace assay {
namespace {

/// Of each row, or with the option `all` of everything.
class Sum : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const Rows size = size_of(call);
    return {{{size.rows}, sum_of_terms(size.columns)}};
  }

  bool makes_terms(const OperationCall& call) const override {
    return is_floating(call.operand("x").dtype);
  }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Operand& x = call.operand("x");
    const Operand& out = call.operand("out");
    const Rows size = size_of(call);
    const Strided rows{x.data, 0, size.columns, 1, x.dtype};
    engine.support().rowwise(Rowwise::sum, rows, {}, {}, 0, out.dtype, out.data, size,
                             call.terms_of("x", rows), call.terms_of("out"));
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    constexpr std::int64_t kMostRead = std::int64_t{1} << 20;
    const std::int64_t columns = size_of(call).columns;
    ExactElement element;
    double squares = 0;
    for (std::int64_t first = 0; first < columns; first += kMostRead) {
      const std::int64_t count = std::min(kMostRead, columns - first);
      for (const double term : read(call.operand("x"), index * columns + first, 1, count)) {
        element.value += term;
        squares += term * term;
      }
    }
    element.scale = std::sqrt(squares);
    return element;
  }

 private:
  static Rows size_of(const OperationCall& call) {
    const Operand& x = call.operand("x");
    return call.flag("all") ? Rows{1, x.elements()} : rows_of(x);
  }
};

}  // namespace

const Operation& operation::sum() { return only<Sum>(); }

}  // namespace assay
