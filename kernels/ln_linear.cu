// Y[M,N] = layer_norm(X) W^T + b, for many rows, as ln_linear_gelu without GELU; ln_linear_erf has
// the same source. 16-bit in and out, fp32 sums, by wgmma (sm_90a). K is a multiple of 8.

#include "common/gemm_wgmma.cuh"
#include "common/wgmma/rms_norm.cuh"
#include "common/wgmma/row_statistics.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;
using G = Geometry<GemmTunables<Element>>;

constexpr float kEpsilon = 1e-5f;

/// GELU says which: none, or by erf.
struct Activation {
  static __device__ __forceinline__ float of(float x) { return GELU ? ExactGelu::of(x) : x; }
};
using Transform = Normalised<Activation>;

/// Ahead of everything, once: as ln_linear_gelu_fold.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_fold(const Element* w, const Element* gamma, const Element* beta, const Element* bias,
                   Element* folded, ColumnSums* columns, int k) {
  fold_row(w, gamma, beta, bias, folded, columns, k);
  if (blockIdx.x > 0) return;
  constexpr int kRoom = 1024;  // as the contract says
  for (int i = threadIdx.x; i < kRoom; i += 128) columns[gridDim.x + i] = {};
}

/// A warp a row, and then the next that no warp has.
extern "C" __global__ void __launch_bounds__(1024)
    ln_linear_statistics(const Element* x, RowScale* rows, int m, int k) {
  grid_release();
  const int warps = static_cast<int>(gridDim.x * blockDim.x / 32);
#pragma unroll 1
  for (int row = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32); row < m;
       row += warps) {
    const RowScale found = statistics_of_row(x + static_cast<long long>(row) * k, k, kEpsilon);
    if (threadIdx.x % 32 == 0) rows[row] = found;
  }
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    ln_linear(const ColumnSums* columns, const RowScale* rows, Element* y,
              const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap w_map,
              const __grid_constant__ TensorMap y_map, int m, int n, int k) {
  gemm_block<G, DenseTiles<G>>(
      {m, n, k}, Boxes<G, Side::m>{&x_map}, Boxes<G, Side::n>{&w_map},
      Output<Element, Transform>{y, n, &y_map, nullptr, {columns, rows, m}});
}
