#include <fmt/ranges.h>

#include "judge/operations/gemm.h"

namespace assay {
namespace {

std::int64_t matrix_elements(const OperationCall& call) {
  const Operand& b = call.operand("b");
  return b.elements() / b.shape.at(0);
}

/// Rows `begin` to `end` times the matrix of `group`, as a gemm.
OperationCall product(const OperationCall& call, std::int64_t group, std::int64_t begin,
                      std::int64_t end) {
  const auto part = [](const Operand& whole, std::int64_t first,
                       std::vector<std::int64_t> shape) -> Operand {
    return {whole.data + static_cast<CUdeviceptr>(first * size_bytes(whole.dtype)), whole.dtype,
            std::move(shape)};
  };
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  const Operand& out = call.operand("out");
  const std::int64_t k = a.shape.at(1), n = out.shape.at(1);
  OperationCall gemm;
  gemm.operands["a"] = part(a, begin * k, {end - begin, k});
  gemm.operands["b"] = part(b, group * matrix_elements(call), {b.shape.at(1), b.shape.at(2)});
  gemm.operands["out"] = part(out, begin * n, {end - begin, n});
  gemm.options = {{"transpose_a", false}, {"transpose_b", call.flag("transpose_b")}};
  return gemm;
}

/// Makes what was a part of `from` the same part of `to`.
void move_to(Operand& part, const Operand& from, const Operand& to) {
  const auto first = static_cast<std::int64_t>(part.data - from.data) / size_bytes(from.dtype);
  part.data = to.data + static_cast<CUdeviceptr>(first * size_bytes(to.dtype));
  part.dtype = to.dtype;
}

/// Rows starts[e] to starts[e+1] of out are those of a times matrix e of b.
class GroupedGemm : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const Operand& a = call.operand("a");
    const Operand& b = call.operand("b");
    const bool transpose_b = call.flag("transpose_b");
    const std::int64_t k = a.shape.at(1), n = b.shape.at(transpose_b ? 1 : 2);
    const std::int64_t num_groups = b.shape.at(0), num_starts = call.operand("starts").elements();
    if (b.shape.at(transpose_b ? 2 : 1) != k) {
      throw oracle_failure("grouped_gemm: a [{}] and b [{}] do not fit", fmt::join(a.shape, ","),
                           fmt::join(b.shape, ","));
    }
    if (num_starts != num_groups + 1) {
      throw oracle_failure("grouped_gemm: {} groups need {} starts, found {}", num_groups,
                           num_groups + 1, num_starts);
    }
    return {{{a.shape.at(0), n}, sum_of_products(k, a.dtype)}};
  }

  bool makes_terms(const OperationCall&) const override { return true; }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const std::vector<OperationCall> products = products_of_groups(call, engine);
    for (const OperationCall& product : products) operation::gemm().compute(product, engine);
    const CUdeviceptr terms = call.terms_of("out");
    if (terms == 0) return;
    const Operand &a = call.operand("a"), &b = call.operand("b"), &out = call.operand("out");
    const auto [squared_a, squared_b] = engine.squares(a, b, DType::bf16);
    const Operand squared_out{terms, DType::f32, out.shape};
    for (OperationCall product : products) {
      move_to(product.operands.at("a"), a, squared_a);
      move_to(product.operands.at("b"), b, squared_b);
      move_to(product.operands.at("out"), out, squared_out);
      operation::gemm().compute(product, engine);
    }
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t output,
                                    std::int64_t index, const ReadElements& read) const override {
    const Operand& starts = call.operand("starts");
    const auto first = read(starts, 0, 1, starts.elements());
    const std::int64_t row = index / call.operand("out").shape.at(1);
    for (std::size_t group = 0; group + 1 < first.size(); ++group) {
      const auto begin = static_cast<std::int64_t>(first[group]);
      const auto end = static_cast<std::int64_t>(first[group + 1]);
      if (row < begin || row >= end) continue;
      // The matrix of b is read at its place in b; the rows of a and out are those of the whole.
      const std::int64_t matrix = static_cast<std::int64_t>(group) * matrix_elements(call);
      const ReadElements shifted = [&](const Operand& operand, std::int64_t at, std::int64_t step,
                                       std::int64_t count) {
        const bool of_b = operand.data == call.operand("b").data;
        return read(operand, of_b ? matrix + at : at, step, count);
      };
      OperationCall whole = product(call, 0, 0, call.operand("a").shape.at(0));
      return operation::gemm().exact(whole, output, index, shifted);
    }
    return ExactElement{};
  }
};

}  // namespace

std::vector<OperationCall> products_of_groups(const OperationCall& call, OperationEngine& engine) {
  const Operand& starts = call.operand("starts");
  const auto first = engine.read(starts, 0, 1, starts.elements());
  const auto num_rows = static_cast<double>(call.operand("a").shape.at(0));
  std::vector<OperationCall> products;
  for (std::size_t group = 0; group + 1 < first.size(); ++group) {
    const bool ends = group + 2 < first.size() || first[group + 1] == num_rows;
    if (!(first[0] == 0 && first[group] <= first[group + 1] && ends)) {
      throw oracle_failure("grouped_gemm: starts must rise from 0 to the {} rows of a, found {}",
                           num_rows, fmt::join(first, ", "));
    }
    if (first[group] == first[group + 1]) continue;
    products.push_back(product(call, static_cast<std::int64_t>(group),
                               static_cast<std::int64_t>(first[group]),
                               static_cast<std::int64_t>(first[group + 1])));
  }
  return products;
}

const Operation& operation::grouped_gemm() { return only<GroupedGemm>(); }

}  // namespace assay
