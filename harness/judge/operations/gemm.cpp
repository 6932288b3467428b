#include "judge/operations/gemm.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cuda/cublas.h"
#include "judge/host_products.h"

namespace assay {
namespace {

class Gemm : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const GemmShape gemm = gemm_shape(call);
    return {{{gemm.m, gemm.n}, sum_of_products(gemm.k, gemm.dtype)}};
  }

  bool makes_terms(const OperationCall&) const override { return true; }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const GemmShape gemm = gemm_shape(call);
    const Operand& a = call.operand("a");
    const Operand& b = call.operand("b");
    const Operand& out = call.operand("out");
    if (out.dtype != DType::f32 && out.dtype != a.dtype) {
      throw oracle_failure("gemm: a product of {} cannot be rounded to {}", to_text(a.dtype),
                           to_text(out.dtype));
    }
    enqueue(gemm, a, b, out, engine);
    const CUdeviceptr terms = call.terms_of("out");
    if (terms == 0) return;
    // bf16 has the range of f32, and two digits are enough.
    const auto [squared_a, squared_b] = engine.squares(a, b, DType::bf16, call.parts_of("a"));
    enqueue(gemm, squared_a, squared_b, {terms, DType::f32, out.shape}, engine);
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t, std::int64_t index,
                                    const ReadElements& read) const override {
    const GemmShape gemm = gemm_shape(call);
    const std::int64_t row = index / gemm.n, column = index % gemm.n;
    const Operand& a = call.operand("a");
    const Operand& b = call.operand("b");
    const auto x =
        gemm.transpose_a ? read(a, row, gemm.m, gemm.k) : read(a, row * gemm.k, 1, gemm.k);
    const auto y =
        gemm.transpose_b ? read(b, column * gemm.k, 1, gemm.k) : read(b, column, gemm.n, gemm.k);
    ExactElement element;
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double term = x[i] * y[i];
      element.value += term;
      squares += term * term;
    }
    element.scale = std::sqrt(squares);
    return element;
  }

 private:
  static void enqueue(const GemmShape& gemm, const Operand& a, const Operand& b, const Operand& out,
                      OperationEngine& engine) {
    if (engine.driver().is_emulated()) return multiply_on_host(gemm, a, b, out);
    const Cublas& cublas = engine.cublas();
    // cuBLAS is column-major: it sees each row-major matrix transposed, so it computes
    // out^T = b^T @ a^T, and the operands swap places.
    const auto op_a = gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const auto op_b = gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const float alpha = 1, beta = 0;
    const bool f32 = a.dtype == DType::f32;
    cublas.cublasSetStream(cublas.handle(), engine.stream());
    cublas.cublasSetMathMode(
        cublas.handle(),
        static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    cublas.check(
        cublas.gemm_ex(
            cublas.handle(), op_b, op_a, static_cast<int>(gemm.n), static_cast<int>(gemm.m),
            static_cast<int>(gemm.k), &alpha, reinterpret_cast<const void*>(b.data),
            cuda_type(b.dtype), static_cast<int>(b.shape[1]), reinterpret_cast<const void*>(a.data),
            cuda_type(a.dtype), static_cast<int>(a.shape[1]), &beta,
            reinterpret_cast<void*>(out.data), cuda_type(out.dtype), static_cast<int>(gemm.n),
            f32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx of the reference");
  }
};

}  // namespace

const Operation& operation::gemm() { return only<Gemm>(); }

GemmShape gemm_shape(const OperationCall& call) {
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  GemmShape gemm;
  gemm.transpose_a = call.flag("transpose_a");
  gemm.transpose_b = call.flag("transpose_b");
  const std::size_t rank = a.shape.size(), stacked = rank == 3 ? 1 : 0;
  gemm.m = a.shape.at(stacked + (gemm.transpose_a ? 1 : 0));
  gemm.k = a.shape.at(stacked + (gemm.transpose_a ? 0 : 1));
  gemm.n = b.shape.at(stacked + (gemm.transpose_b ? 0 : 1));
  if (stacked == 1) gemm.batch = a.shape[0];
  gemm.dtype = a.dtype;
  if (b.shape.at(stacked + (gemm.transpose_b ? 1 : 0)) != gemm.k ||
      (stacked == 1 && b.shape[0] != gemm.batch)) {
    throw oracle_failure("gemm: a [{}] and b [{}] do not fit", fmt::join(a.shape, ","),
                         fmt::join(b.shape, ","));
  }
  const auto out = call.operands.find("out");
  if (out != call.operands.end() && out->second.shape != gemm.out(rank)) {
    throw oracle_failure("gemm: out is [{}], but the product of a [{}] and b [{}] is not",
                         fmt::join(out->second.shape, ","), fmt::join(a.shape, ","),
                         fmt::join(b.shape, ","));
  }
  if (std::max({gemm.m, gemm.n, gemm.k, gemm.batch}) > std::numeric_limits<int>::max()) {
    throw oracle_failure("gemm: a dimension is larger than 2147483647");
  }
  return gemm;
}

}  // namespace assay
