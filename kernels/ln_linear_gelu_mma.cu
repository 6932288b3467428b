// Y[M,N] = gelu(layer_norm(X) W^T + b), as ln_linear_gelu, but by mma.sync (sm_80 and later): a
// launch finds the mean and the deviation of each row of X, and a product multiplies X as it is.
// 16-bit in and out, fp32 sums. K is a multiple of 8.

#include "common/gemm_mma_fused.cuh"
#include "common/wgmma/row_statistics.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;
using Transform = Normalised<Gelu>;

constexpr float kEpsilon = 1e-5f;

/// Ahead of everything, once: the weights that are multiplied, and two sums of each of their rows.
/// The room for whole tiles behind these is read, too, and is zero.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_gelu_mma_fold(const Element* w, const Element* gamma, const Element* beta,
                            const Element* bias, Element* folded, ColumnSums* columns, int k) {
  fold_row(w, gamma, beta, bias, folded, columns, k);
  if (blockIdx.x > 0) return;
  constexpr int kRoom = 256;  // as the contract says
  for (int i = threadIdx.x; i < kRoom; i += 128) columns[gridDim.x + i] = {};
}

/// A warp a row.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_gelu_mma_rows(const Element* x, RowScale* rows, int m, int k) {
  const int row = static_cast<int>((blockIdx.x * 128 + threadIdx.x) / 32);
  if (row >= m) return;
  const RowScale found = statistics_of_row(x + static_cast<long long>(row) * k, k, kEpsilon);
  if (threadIdx.x % 32 == 0) rows[row] = found;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    ln_linear_gelu_mma(const Element* x, const Element* folded, const ColumnSums* columns,
                       const RowScale* rows, Element* y, float* partial, int m, int n, int k) {
  fused_tile(x, folded, y, partial, m, n, k, Transform{columns, rows, m});
}

/// Last launch, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_gelu_mma_reduce(const ColumnSums* columns, const RowScale* rows, Element* y,
                              const float* partial, int m, int n) {
  reduce_fused(partial, y, m, n, Transform{columns, rows, m});
}
