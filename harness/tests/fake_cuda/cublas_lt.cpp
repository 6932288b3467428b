// The functions of cuBLASLt that harness/cuda loads, for products of f32 that are no stacks. In the
// same library as the driver's. The heuristic offers two algorithms; for addresses that are not
// aligned to 256 bytes, the second alone.
#include <cublasLt.h>

#include <cstdint>
#include <cstring>
#include <utility>

struct cublasLtContext {};

namespace {

struct Matmul {
  std::int32_t transpose_first, transpose_second;
};
struct Layout {
  std::uint64_t rows, columns;
  std::int64_t step;
};
struct Preference {
  std::uint32_t alignment;
};

template <typename Form, typename Opaque>
Form& form(Opaque* opaque) {
  static_assert(sizeof(Form) <= sizeof(Opaque));
  return *reinterpret_cast<Form*>(opaque);
}

template <typename Form, typename Opaque>
const Form& form(const Opaque* opaque) {
  return *reinterpret_cast<const Form*>(opaque);
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() { return 130100; }

const char* cublasLtGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_NOT_SUPPORTED"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t,
                                        cudaDataType_t) {
  *made = new cublasLtMatmulDescOpaque_t{};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t made,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  auto& matmul = form<Matmul>(made);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) std::memcpy(&matmul.transpose_first, value, bytes);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) std::memcpy(&matmul.transpose_second, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t step) {
  *made = new cublasLtMatrixLayoutOpaque_t{};
  form<Layout>(*made) = {rows, columns, step};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t,
                                                cublasLtMatrixLayoutAttribute_t, const void*,
                                                std::size_t) {
  return CUBLAS_STATUS_NOT_SUPPORTED;  // a stack
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = new cublasLtMatmulPreferenceOpaque_t{};
  form<Preference>(*made).alignment = 256;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t made,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES) {
    std::memcpy(&form<Preference>(made).alignment, value, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  const std::uint64_t first = form<Preference>(preference).alignment == 256 ? 1 : 2;
  *found = 0;
  for (std::uint64_t number = first; number <= 2; ++number) {
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result = {};
    result.algo.data[0] = number;
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// The last algorithm that ran.
std::uint64_t fake_lt_algorithm = 0;

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* first, cublasLtMatrixLayout_t first_layout,
                              const void* second, cublasLtMatrixLayout_t second_layout, const void*,
                              const void*, cublasLtMatrixLayout_t, void* out,
                              cublasLtMatrixLayout_t out_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void*, std::size_t,
                              cudaStream_t) {
  fake_lt_algorithm = algorithm->data[0];
  const auto& matmul = form<Matmul>(operation);
  const auto& a = form<Layout>(first_layout);
  const auto& b = form<Layout>(second_layout);
  const auto& c = form<Layout>(out_layout);
  const auto at = [](const Layout& layout, bool transposed, std::uint64_t row,
                     std::uint64_t column) {
    if (transposed) std::swap(row, column);
    return static_cast<std::int64_t>(row) + static_cast<std::int64_t>(column) * layout.step;
  };
  const bool of_a = matmul.transpose_first == CUBLAS_OP_T;
  const bool of_b = matmul.transpose_second == CUBLAS_OP_T;
  for (std::uint64_t row = 0; row < c.rows; ++row) {
    for (std::uint64_t column = 0; column < c.columns; ++column) {
      float sum = 0;
      for (std::uint64_t k = 0; k < (of_a ? a.rows : a.columns); ++k) {
        sum += static_cast<const float*>(first)[at(a, of_a, row, k)] *
               static_cast<const float*>(second)[at(b, of_b, k, column)];
      }
      static_cast<float*>(out)[at(c, false, row, column)] = *static_cast<const float*>(alpha) * sum;
    }
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
