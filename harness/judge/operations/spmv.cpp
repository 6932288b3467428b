#include <cmath>

#include "judge/host_products.h"
#include "judge/sparse_matvec.h"

namespace assay {
namespace {

/// Row i of a sparse matrix has values starts[i] to starts[i+1], each in a column: out = A x.
class Spmv : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const std::int64_t starts = call.operand("starts").elements();
    const std::int64_t columns = call.operand("columns").elements();
    const std::int64_t values = call.operand("values").elements();
    if (columns != values || starts < 2) {
      throw oracle_failure("spmv: {} columns and {} values, in rows with {} starts, do not fit",
                           columns, values, starts);
    }
    // The limit is of the rms of all rows, so it is their mean length that counts.
    const std::int64_t rows = starts - 1;
    return {{{rows}, sum_of_products((values + rows - 1) / rows, call.operand("values").dtype)}};
  }

  bool makes_terms(const OperationCall&) const override { return true; }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    multiply(call, engine);
    const CUdeviceptr terms = call.terms_of("out");
    if (terms == 0) return;
    OperationCall squared = call;
    const auto [values, x] = engine.squares(call.operand("values"), call.operand("x"), DType::f32);
    squared.operands["values"] = values;
    squared.operands["x"] = x;
    squared.operands["out"] = {terms, DType::f32, call.operand("out").shape};
    multiply(squared, engine);
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    const std::vector<double> ends = read(call.operand("starts"), index, 1, 2);
    const auto begin = static_cast<std::int64_t>(ends[0]);
    const auto count = static_cast<std::int64_t>(ends[1]) - begin;
    ExactElement element;
    if (count <= 0) return element;
    const std::vector<double> columns = read(call.operand("columns"), begin, 1, count);
    const std::vector<double> values = read(call.operand("values"), begin, 1, count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto column = static_cast<std::int64_t>(columns[i]);
      const double term = values[i] * read(call.operand("x"), column, 1, 1)[0];
      element.value += term;
      element.scale = std::hypot(element.scale, term);
    }
    return element;
  }

 private:
  static void multiply(const OperationCall& call, OperationEngine& engine) {
    if (engine.driver().is_emulated()) return multiply_sparse_on_host(call);
    SparseMatvec(engine, call).enqueue();
  }
};

}  // namespace

const Operation& operation::spmv() { return only<Spmv>(); }

}  // namespace assay
