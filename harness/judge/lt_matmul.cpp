#include "judge/lt_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/stats.h"
#include "cuda/cublas.h"
#include "judge/operations/gemm.h"

namespace assay {
namespace {

// Enough to tell algorithms that differ by 5 %. Closer ones are timed again in full.
constexpr int kQuickRounds = 9;
constexpr double kShortlistRatio = 1.05;

/// Throws Failure.
LtShape shape_of(const OperationCall& call) {
  const GemmShape gemm = gemm_shape(call);
  const auto matrix = [&](const char* name) {
    const Operand& operand = call.operand(name);
    const std::size_t rank = operand.shape.size();
    return LtShape::Matrix{operand.dtype, operand.shape.at(rank - 2), operand.shape.at(rank - 1)};
  };
  return {matrix("a"), matrix("b"), matrix("out"), gemm.batch, gemm.transpose_a, gemm.transpose_b};
}

/// How cuBLASLt calls blocks of so many rows by 128 columns. Throws Error for others, and where the
/// scales lie in another way than cuBLASLt has them: those of rows beside each other down the rows,
/// those of 128 x 128 elements along them, each from a multiple of 16 bytes on.
cublasLtMatmulMatrixScale_t scale_mode(const OperationCall& call, const std::string& side) {
  const Operand& scales = call.operand(side + "_scales");
  if (scales.dtype == DType::f32 && scales.elements() == 1) {
    return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  }
  const double rows = call.number(side + "_block_rows");
  const bool by_row = rows == 1;
  const bool fits = scales.dtype == DType::f32 && (by_row || rows == 128) &&
                    call.number("block_columns") == 128 && scales.shape.back() % 4 == 0 &&
                    call.flag(fmt::format("transpose_{}_scales", side)) == by_row;
  if (!fits) {
    throw Error(
        "cuBLASLt has scales of f32 for 1 x 128 elements, transposed, or for 128 x 128, in rows of "
        "a multiple of 4; or one for the whole matrix");
  }
  return by_row ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
                : CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}

int to_int(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw oracle_failure("grouped_gemm: a dimension is larger than 2147483647");
  }
  return static_cast<int>(value);
}

}  // namespace

LtMatmul::LtMatmul(OperationEngine& engine, const OperationCall& call, cublasComputeType_t compute)
    : support_(&engine.support()),
      a_(call.operand("a").data),
      b_(call.operand("b").data),
      product_(engine.cublas(), shape_of(call), compute) {
  set_epilogue(call);
  set_scales(call);
  algorithms_ = product_.algorithms();
  if (algorithms_.empty()) {
    const GemmShape gemm = gemm_shape(call);
    throw Error("cuBLASLt has no algorithm for a product of {}x{}x{} in {}", gemm.m, gemm.n, gemm.k,
                to_text(gemm.dtype));
  }
  for (const cublasLtMatmulHeuristicResult_t& offered : algorithms_) {
    workspace_bytes_ = std::max(workspace_bytes_, offered.workspaceSize);
  }
  if (workspace_bytes_ > 0) workspace_ = allocate(engine.driver(), workspace_bytes_);
}

void LtMatmul::set_epilogue(const OperationCall& call) {
  const Operand* bias = call.find("bias");
  const auto has = [&](const char* flag) { return call.options.contains(flag) && call.flag(flag); };
  cublasLtEpilogue_t epilogue = bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (has("relu")) epilogue = bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (has("gelu")) epilogue = bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT) return;
  product_.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (bias == nullptr) return;
  // One value for each row of out^T, which cuBLASLt computes.
  if (bias->elements() != call.operand("out").shape.back()) {
    throw oracle_failure("cublaslt: out has {} columns but bias {} elements",
                         call.operand("out").shape.back(), bias->elements());
  }
  product_.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias->data);
  product_.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(bias->dtype));
}

/// cuBLASLt's A is b, as everywhere here.
void LtMatmul::set_scales(const OperationCall& call) {
  if (call.find("a_scales") == nullptr) return;
  product_.set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, std::int32_t{scale_mode(call, "b")});
  product_.set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, std::int32_t{scale_mode(call, "a")});
  product_.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, call.operand("b_scales").data);
  product_.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, call.operand("a_scales").data);
}

void LtMatmul::enqueue(int algorithm, CUdeviceptr out) const {
  product_.enqueue(algorithms_[static_cast<std::size_t>(algorithm)].algo, a_, b_, out,
                   workspace_.get(), workspace_bytes_, support_->stream());
}

std::vector<int> LtMatmul::shortlist(Timer& timer, CUdeviceptr out, std::size_t most) {
  std::map<int, std::vector<double>> samples_ns;
  for (int i = 0; i < num_algorithms(); ++i) {
    // The first launch loads the kernel, which must not happen while the stream is held.
    try {
      enqueue(i, out);
    } catch (const CudaError&) {
      throw;
    } catch (const Error&) {
      continue;  // the heuristic offers some algorithms that do not run
    }
    support_->synchronise();
    samples_ns[i];
  }
  for (int round = 0; round < kQuickRounds; ++round) {
    for (auto& [algorithm, times_ns] : samples_ns) {
      const Work work = [this, algorithm, out] { enqueue(algorithm, out); };
      times_ns.push_back(timer.sample({work}, Preparation::cold).time_ns);
      Timer::rest(times_ns.back());
    }
  }
  std::vector<std::pair<double, int>> by_time;
  for (const auto& [algorithm, times_ns] : samples_ns) {
    by_time.emplace_back(median(times_ns), algorithm);
  }
  if (by_time.empty()) throw Error("none of cuBLASLt's algorithms ran");
  std::ranges::sort(by_time);
  std::vector<int> shortlist;
  for (const auto& [time_ns, algorithm] : by_time) {
    if (shortlist.size() < most && time_ns <= kShortlistRatio * by_time.front().first) {
      shortlist.push_back(algorithm);
    }
  }
  return shortlist;
}

std::string LtMatmul::describe(int algorithm) const {
  return fmt::format("algorithm {} of {}, workspace {} MiB", algorithm + 1, num_algorithms(),
                     LtProduct::kWorkspaceMib);
}

GroupedMatmul::GroupedMatmul(OperationEngine& engine, const OperationCall& call)
    : stream_(engine.stream()),
      cublas_(&engine.cublas()),
      type_(cuda_type(call.operand("a").dtype)),
      out_type_(cuda_type(call.operand("out").dtype)) {
  std::vector<CUdeviceptr> first_data, second_data, out_data;
  for (const OperationCall& product : products_of_groups(call, engine)) {
    const GemmShape gemm = gemm_shape(product);
    const int k = to_int(gemm.k), n = to_int(gemm.n);
    op_first_.push_back(gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    op_second_.push_back(CUBLAS_OP_N);
    m_.push_back(n);
    n_.push_back(to_int(gemm.m));
    k_.push_back(k);
    ld_first_.push_back(gemm.transpose_b ? k : n);
    ld_second_.push_back(k);
    ld_out_.push_back(n);
    sizes_.push_back(1);
    ones_.push_back(1);
    zeros_.push_back(0);
    first_data.push_back(product.operand("b").data);
    second_data.push_back(product.operand("a").data);
    out_data.push_back(product.operand("out").data);
  }
  if (sizes_.empty()) throw oracle_failure("grouped_gemm: no group has rows");
  std::vector<CUdeviceptr> all = first_data;
  all.insert(all.end(), second_data.begin(), second_data.end());
  all.insert(all.end(), out_data.begin(), out_data.end());
  const std::size_t bytes = all.size() * sizeof(CUdeviceptr);
  pointers_ = allocate(engine.driver(), bytes);
  engine.support().upload(pointers_.get(), all.data(), bytes);
}

void GroupedMatmul::enqueue() const {
  const std::size_t count = sizes_.size();
  const auto part = [&](std::size_t index) {
    return pointers_.get() + index * count * sizeof(CUdeviceptr);
  };
  cublas_->cublasSetStream(cublas_->handle(), stream_);
  cublas_->cublasSetMathMode(cublas_->handle(), CUBLAS_DEFAULT_MATH);
  cublas_->cublasGemmGroupedBatchedEx(
      cublas_->handle(), op_first_.data(), op_second_.data(), m_.data(), n_.data(), k_.data(),
      ones_.data(), reinterpret_cast<const void* const*>(part(0)), type_, ld_first_.data(),
      reinterpret_cast<const void* const*>(part(1)), type_, ld_second_.data(), zeros_.data(),
      reinterpret_cast<void* const*>(part(2)), out_type_, ld_out_.data(), static_cast<int>(count),
      sizes_.data(), CUBLAS_COMPUTE_32F);
}

}  // namespace assay
