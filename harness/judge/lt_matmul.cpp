#include "judge/lt_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "base/stats.h"
#include "judge/cublas_types.h"
#include "judge/operations/gemm.h"

namespace assay {
namespace {

// NVIDIA's own recommendation for Hopper. Every algorithm is asked for, and timed, with this much.
constexpr std::size_t kWorkspaceMib = 32;
constexpr std::size_t kWorkspaceBytes = kWorkspaceMib << 20;
// More than the heuristic has ever returned (8 on an H200).
constexpr int kMaxAlgorithms = 32;
// Enough to tell algorithms that differ by 5 %. Closer ones are timed again in full.
constexpr int kQuickRounds = 9;
constexpr double kShortlistRatio = 1.05;

/// The type of the factors of a product that is computed so.
cudaDataType_t scale_type(cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_64F) return CUDA_R_64F;
  return compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I : CUDA_R_32F;
}

/// A factor in one of these types.
using Scalar = std::array<std::byte, sizeof(double)>;

Scalar scalar(int value, cudaDataType_t type) {
  Scalar made{};
  const auto as = [&](auto number) { std::memcpy(made.data(), &number, sizeof number); };
  if (type == CUDA_R_64F) {
    as(static_cast<double>(value));
  } else if (type == CUDA_R_32I) {
    as(std::int32_t{value});
  } else {
    as(static_cast<float>(value));
  }
  return made;
}

}  // namespace

LtMatmul::LtMatmul(const Driver& driver, CUstream stream, const Cublas& cublas,
                   const OperationCall& call, cublasComputeType_t compute)
    : driver_(&driver),
      stream_(stream),
      cublas_(&cublas),
      operation_(nullptr, cublas.cublasLtMatmulDescDestroy),
      first_(nullptr, cublas.cublasLtMatrixLayoutDestroy),
      second_(nullptr, cublas.cublasLtMatrixLayoutDestroy),
      out_(nullptr, cublas.cublasLtMatrixLayoutDestroy),
      scale_(scale_type(compute)) {
  const GemmShape gemm = gemm_shape(call);
  const Operand& a = call.operand("a");
  const Operand& b = call.operand("b");
  a_ = a.data;
  b_ = b.data;

  // Column-major, as in the reference: out^T = b^T @ a^T, each matrix seen transposed.
  cublasLtMatmulDesc_t operation = nullptr;
  cublas.check(cublas.cublasLtMatmulDescCreate(&operation, compute, scale_),
               "cublasLtMatmulDescCreate");
  operation_.reset(operation);
  const cublasOperation_t op_first = gemm.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_second = gemm.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(CUBLASLT_MATMUL_DESC_TRANSA, op_first);
  set(CUBLASLT_MATMUL_DESC_TRANSB, op_second);
  const auto layout_of = [&](const Operand& operand) {
    const std::size_t rank = operand.shape.size();
    return make_layout(cuda_type(operand.dtype), operand.shape.at(rank - 1),
                       operand.shape.at(rank - 2), gemm.batch);
  };
  first_ = layout_of(b);
  second_ = layout_of(a);
  out_ = layout_of(call.operand("out"));
  set_epilogue(call);
  set_scales(call);

  cublasLtMatmulPreference_t preference = nullptr;
  cublas.check(cublas.cublasLtMatmulPreferenceCreate(&preference),
               "cublasLtMatmulPreferenceCreate");
  cublasStatus_t status = cublas.cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
      sizeof kWorkspaceBytes);
  algorithms_.resize(kMaxAlgorithms);
  int found = 0;
  if (status == CUBLAS_STATUS_SUCCESS) {
    status = cublas.cublasLtMatmulAlgoGetHeuristic(
        cublas.lt_handle(), operation, first_.get(), second_.get(), out_.get(), out_.get(),
        preference, kMaxAlgorithms, algorithms_.data(), &found);
  }
  static_cast<void>(cublas.cublasLtMatmulPreferenceDestroy(preference));
  cublas.check(status, "cublasLtMatmulAlgoGetHeuristic");
  algorithms_.resize(static_cast<std::size_t>(found));
  if (algorithms_.empty()) {
    throw Error(fmt::format("cuBLASLt has no algorithm for a product of {}x{}x{} in {}", gemm.m,
                            gemm.n, gemm.k, to_text(gemm.dtype)));
  }
  for (const cublasLtMatmulHeuristicResult_t& offered : algorithms_) {
    workspace_bytes_ = std::max(workspace_bytes_, offered.workspaceSize);
  }
  if (workspace_bytes_ > 0) workspace_ = allocate(driver, workspace_bytes_);
}

template <typename Value>
void LtMatmul::set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  cublas_->check(
      cublas_->cublasLtMatmulDescSetAttribute(operation_.get(), attribute, &value, sizeof value),
      "cublasLtMatmulDescSetAttribute");
}

void LtMatmul::set_epilogue(const OperationCall& call) {
  const Operand* bias = call.find("bias");
  const auto has = [&](const char* flag) { return call.options.contains(flag) && call.flag(flag); };
  cublasLtEpilogue_t epilogue = bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (has("relu")) epilogue = bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  if (has("gelu")) epilogue = bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT) return;
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (bias == nullptr) return;
  // One value for each row of out^T, which cuBLASLt computes.
  if (bias->elements() != call.operand("out").shape.back()) {
    throw oracle_failure(fmt::format("cublaslt: out has {} columns but bias {} elements",
                                     call.operand("out").shape.back(), bias->elements()));
  }
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias->data);
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, cuda_type(bias->dtype));
}

namespace {

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

}  // namespace

/// cuBLASLt's A is b, as everywhere here.
void LtMatmul::set_scales(const OperationCall& call) {
  if (call.find("a_scales") == nullptr) return;
  set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, std::int32_t{scale_mode(call, "b")});
  set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, std::int32_t{scale_mode(call, "a")});
  set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, call.operand("b_scales").data);
  set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, call.operand("a_scales").data);
}

LtMatmul::Layout LtMatmul::make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns,
                                       std::int64_t batch) const {
  cublasLtMatrixLayout_t layout = nullptr;
  cublas_->check(
      cublas_->cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(columns), rows),
      "cublasLtMatrixLayoutCreate");
  Layout made(layout, cublas_->cublasLtMatrixLayoutDestroy);
  if (batch == 1) return made;
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    cublas_->check(
        cublas_->cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value),
        "cublasLtMatrixLayoutSetAttribute");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, rows * columns);
  return made;
}

void LtMatmul::enqueue(int algorithm, CUdeviceptr out) const {
  const Scalar one = scalar(1, scale_), zero = scalar(0, scale_);
  cublas_->check(
      cublas_->cublasLtMatmul(
          cublas_->lt_handle(), operation_.get(), &one, reinterpret_cast<const void*>(b_),
          first_.get(), reinterpret_cast<const void*>(a_), second_.get(), &zero,
          reinterpret_cast<const void*>(out), out_.get(), reinterpret_cast<void*>(out), out_.get(),
          &algorithms_[static_cast<std::size_t>(algorithm)].algo,
          reinterpret_cast<void*>(workspace_.get()), workspace_bytes_, stream_),
      "cublasLtMatmul");
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
    driver_->check(driver_->cuStreamSynchronize(stream_), "cuStreamSynchronize");
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
  std::sort(by_time.begin(), by_time.end());
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
                     kWorkspaceMib);
}

}  // namespace assay
