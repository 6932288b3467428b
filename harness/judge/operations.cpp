#include "judge/operations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "judge/cublas_types.h"
#include "support/failure.h"

namespace assay {
namespace {

Failure refused(const std::string& message) { return {Status::runtime, "oracle", message}; }

std::int64_t gemm_sum_length(const OperationCall& call) { return gemm_shape(call).k; }

void gemm_compute(const OperationCall& call, OperationEngine& engine) {
  const GemmShape gemm = gemm_shape(call);
  const Cublas& cublas = engine.cublas();
  // cuBLAS is column-major: it sees each row-major matrix transposed, so it computes
  // out^T = b^T @ a^T, and the operands swap places.
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  const auto op_a = gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const auto op_b = gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const float alpha = 1, beta = 0;
  const bool f32 = gemm.dtype == DType::f32;
  cublas.check(cublas.cublasSetStream(cublas.handle(), engine.stream()), "cublasSetStream");
  cublas.check(cublas.cublasSetMathMode(
                   cublas.handle(),
                   static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                             CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
               "cublasSetMathMode");
  cublas.check(
      cublas.gemm_ex(cublas.handle(), op_b, op_a, static_cast<int>(gemm.n),
                     static_cast<int>(gemm.m), static_cast<int>(gemm.k), &alpha,
                     reinterpret_cast<const void*>(b.data), cuda_type(b.dtype),
                     static_cast<int>(b.shape[1]), reinterpret_cast<const void*>(a.data),
                     cuda_type(a.dtype), static_cast<int>(a.shape[1]), &beta,
                     reinterpret_cast<void*>(call.out.data), CUDA_R_32F, static_cast<int>(gemm.n),
                     f32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
      "cublasGemmEx of the reference");
}

ExactElement gemm_exact(const OperationCall& call, std::int64_t index, OperationEngine& engine) {
  const GemmShape gemm = gemm_shape(call);
  const std::int64_t row = index / gemm.n, column = index % gemm.n;
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  const auto x = gemm.transpose_a ? engine.read(a, row, gemm.m, gemm.k)
                                  : engine.read(a, row * gemm.k, 1, gemm.k);
  const auto y = gemm.transpose_b ? engine.read(b, column * gemm.k, 1, gemm.k)
                                  : engine.read(b, column, gemm.n, gemm.k);
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

std::int64_t add_sum_length(const OperationCall& call) {
  for (const char* name : {"a", "b"}) {
    if (call.operand(name).shape != call.out.shape) {
      throw refused(fmt::format("add: {} is [{}] but out is [{}]", name,
                                fmt::join(call.operand(name).shape, ","),
                                fmt::join(call.out.shape, ",")));
    }
  }
  return 1;
}

void add_compute(const OperationCall& call, OperationEngine& engine) {
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  engine.support().add(a.dtype, a.data, b.dtype, b.data, call.out.data, call.out.elements());
}

ExactElement add_exact(const OperationCall& call, std::int64_t index, OperationEngine& engine) {
  const double a = engine.read(call.operand("a"), index, 1, 1)[0];
  const double b = engine.read(call.operand("b"), index, 1, 1)[0];
  return {a + b, std::hypot(a, b)};
}

constexpr std::array kOperations{
    Operation{"gemm", gemm_sum_length, gemm_compute, gemm_exact},
    Operation{"add", add_sum_length, add_compute, add_exact},
};

}  // namespace

std::int64_t Operand::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

const Operand& OperationCall::operand(const std::string& name) const {
  const auto found = operands.find(name);
  if (found == operands.end()) throw refused(fmt::format("the reference lacks operand {}", name));
  return found->second;
}

bool OperationCall::option(const std::string& name) const {
  const auto found = options.find(name);
  return found != options.end() && found->second != 0;
}

const Cublas& OperationEngine::cublas() {
  if (!cublas_) cublas_ = std::make_unique<Cublas>();
  return *cublas_;
}

std::vector<double> OperationEngine::read(const Operand& operand, std::int64_t first,
                                          std::int64_t step, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(double);
  if (count > staging_elements_) {
    staging_ = allocate(*driver_, bytes);
    staging_elements_ = count;
  }
  std::vector<double> values(static_cast<std::size_t>(count));
  support_->gather(operand.dtype, operand.data, first, step, count, staging_.get());
  driver_->check(driver_->cuMemcpyDtoHAsync(values.data(), staging_.get(), bytes, stream_),
                 "cuMemcpyDtoHAsync");
  driver_->check(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
  return values;
}

const Operation& find_operation(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Operation& operation : kOperations) {
    if (operation.name == name) return operation;
    names.push_back(operation.name);
  }
  throw refused(
      fmt::format("the reference has no operation {}; there are {}", name, fmt::join(names, ", ")));
}

GemmShape gemm_shape(const OperationCall& call) {
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  if (a.shape.size() != 2 || b.shape.size() != 2 || call.out.shape.size() != 2) {
    throw refused("gemm: a, b and out must be matrices");
  }
  GemmShape gemm;
  gemm.transpose_a = call.option("transpose_a");
  gemm.transpose_b = call.option("transpose_b");
  gemm.m = a.shape[gemm.transpose_a ? 1 : 0];
  gemm.k = a.shape[gemm.transpose_a ? 0 : 1];
  gemm.n = b.shape[gemm.transpose_b ? 0 : 1];
  gemm.dtype = a.dtype;
  const std::int64_t b_k = b.shape[gemm.transpose_b ? 1 : 0];
  if (b_k != gemm.k || call.out.shape != std::vector{gemm.m, gemm.n}) {
    throw refused(fmt::format("gemm: a [{}], b [{}] and out [{}] do not fit",
                              fmt::join(a.shape, ","), fmt::join(b.shape, ","),
                              fmt::join(call.out.shape, ",")));
  }
  const bool known = a.dtype == DType::bf16 || a.dtype == DType::f16 || a.dtype == DType::f32;
  if (a.dtype != b.dtype || !known) {
    throw refused(fmt::format("gemm: a and b must both be bf16, f16 or f32, found {} and {}",
                              to_text(a.dtype), to_text(b.dtype)));
  }
  if (std::max({gemm.m, gemm.n, gemm.k}) > std::numeric_limits<int>::max()) {
    throw refused("gemm: a dimension is larger than 2147483647");
  }
  return gemm;
}

}  // namespace assay
