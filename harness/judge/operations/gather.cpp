#include <fmt/ranges.h>

#include <cmath>

#include "judge/operation.h"

namespace assay {
namespace {

Strided at_rows(const Operand* operand, std::int64_t top) {
  if (operand == nullptr) return {};
  return {operand->data, 0, top, 1, operand->dtype};
}

/// Makes each row of `out` of some rows of `x`: out[i] = sum of weight[i,t] * x[index[i,t]] over t.
/// Without an index the rows follow each other, without a weight they count as they are.
class Gather : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const Rows rows = chosen(call);
    return {{{rows.rows, call.operand("x").shape.at(1)}, sum_of_terms(rows.columns)}};
  }

  /// A row that is only moved is no sum of its own.
  bool makes_terms(const OperationCall& call) const override {
    const bool adds = call.find("weight") != nullptr && is_floating(call.operand("x").dtype);
    return adds || call.terms_of("x") != 0;
  }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Operand& x = call.operand("x");
    const Operand& out = call.operand("out");
    const std::int64_t top = chosen(call).columns;
    engine.support().gather_rows(dense(x), x.shape.at(0), at_rows(call.find("index"), top),
                                 at_rows(call.find("weight"), top), top, out.dtype, out.data,
                                 rows_of(out), call.terms_of("x", dense(x)), call.terms_of("out"));
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    const Operand& x = call.operand("x");
    const std::int64_t columns = x.shape.at(1), top = chosen(call).columns;
    const std::int64_t row = index / columns, column = index % columns;
    const auto of_row = [&](const char* name) {
      const Operand* operand = call.find(name);
      return operand == nullptr ? std::vector<double>() : read(*operand, row * top, 1, top);
    };
    const std::vector<double> rows = of_row("index"), weights = of_row("weight");
    ExactElement element;
    for (std::int64_t t = 0; t < top; ++t) {
      const auto i = static_cast<std::size_t>(t);
      const std::int64_t from = rows.empty() ? row * top + t : static_cast<std::int64_t>(rows[i]);
      if (from < 0 || from >= x.shape.at(0)) {
        throw oracle_failure("index {} of row {} is {}, but x has {} rows", t, row, from,
                             x.shape.at(0));
      }
      const double term =
          (weights.empty() ? 1 : weights[i]) * read(x, from * columns + column, 1, 1)[0];
      element.value += term;
      element.scale = std::hypot(element.scale, term);
    }
    return element;
  }

 private:
  /// How many rows are made, and of how many each.
  static Rows chosen(const OperationCall& call) {
    const Operand* weight = call.find("weight");
    const Operand* index = call.find("index");
    if (weight != nullptr && index != nullptr && weight->shape != index->shape) {
      throw oracle_failure("topk_sum: weight is [{}] but index is [{}]",
                           fmt::join(weight->shape, ","), fmt::join(index->shape, ","));
    }
    const Operand& chooser = weight != nullptr ? *weight : call.operand("index");
    const std::int64_t top = chooser.shape.size() == 1 ? 1 : chooser.shape.back();
    const Rows rows{chooser.elements() / top, top};
    if (index == nullptr && call.operand("x").shape.at(0) != rows.rows * top) {
      throw oracle_failure(
          "topk_sum: without an index, x needs {} rows for weight [{}], but has {}",
          rows.rows * top, fmt::join(chooser.shape, ","), call.operand("x").shape.at(0));
    }
    return rows;
  }
};

}  // namespace

const Operation& operation::gather() { return only<Gather>(); }

}  // namespace assay
