#include <fmt/ranges.h>

#include <cmath>

#include "judge/host_products.h"
#include "judge/operation.h"

namespace assay {
namespace {

/// out[index[i]] += x[i], on zeros. How many rows there are, only the buffer of out says.
class ScatterAdd : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const Operand& x = call.operand("x");
    const Operand& index = call.operand("index");
    const std::vector<std::int64_t>& out = call.declared("out");
    if (index.elements() != x.shape.at(0) || out.at(1) != x.shape.at(1)) {
      throw oracle_failure("scatter_add: x [{}], index [{}] and out [{}] do not fit",
                           fmt::join(x.shape, ","), fmt::join(index.shape, ","),
                           fmt::join(out, ","));
    }
    return {{out, sum_of_terms(x.shape.at(0))}};
  }

  bool makes_terms(const OperationCall& call) const override {
    return is_floating(call.operand("x").dtype);
  }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Operand& x = call.operand("x");
    const Operand& index = call.operand("index");
    const Operand& out = call.operand("out");
    // Types that the host has, too.
    const bool is_plain =
        x.dtype <= DType::f64 && out.dtype <= DType::f64 && index.dtype == DType::i32;
    if (engine.driver().is_emulated() && is_plain) return scatter_on_host(call);
    engine.support().scatter_rows(dense(x), x.shape.at(0), per_column(&index), out.dtype, out.data,
                                  rows_of(out), call.terms_of("x", dense(x)), call.terms_of("out"));
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    const Operand& x = call.operand("x");
    const std::int64_t columns = x.shape.at(1), column = index % columns;
    const auto row = static_cast<double>(index / columns);
    const std::vector<double> rows = read(call.operand("index"), 0, 1, x.shape.at(0));
    ExactElement element;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] != row) continue;
      const double term = read(x, static_cast<std::int64_t>(i) * columns + column, 1, 1)[0];
      element.value += term;
      element.scale = std::hypot(element.scale, term);
    }
    return element;
  }
};

}  // namespace

const Operation& operation::scatter_add() { return only<ScatterAdd>(); }

}  // namespace assay
