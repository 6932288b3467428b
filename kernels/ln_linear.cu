// Y[M,N] = layer_norm(X) W^T + b, for many rows, as ln_linear_gelu without GELU; ln_linear_erf has
// the same source. 16-bit in and out, fp32 sums, by wgmma (sm_90a). K is a multiple of 8.

#include "common/gemm_wgmma.cuh"
#include "common/wgmma/rms_norm.cuh"
#include "common/wgmma/row_launch.cuh"
#include "common/wgmma/zero_sum.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;
using G = Staging<Geometry<GemmTunables<Element>>, PANELS>;

constexpr float kEpsilon = 1e-5f;

/// GELU says which: none, or by erf.
struct Activation {
  static __device__ __forceinline__ float of(float x) { return GELU ? ExactGelu::of(x) : x; }
};
using Transform = Scaled<Activation>;

/// Ahead of everything, once: as ln_linear_gelu_fold.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_fold(const Element* w, const Element* gamma, const Element* beta, const Element* bias,
                   Element* folded, float* biases, int k) {
  fold_row_to_zero(w, gamma, beta, bias, folded, biases, k);
  if (blockIdx.x > 0) return;
  constexpr int kRoom = 1024;  // as the contract says
  for (int i = threadIdx.x; i < kRoom; i += 128) biases[gridDim.x + i] = 0;
}

/// As ln_linear_gelu_statistics.
extern "C" __global__ void __launch_bounds__(1024)
    ln_linear_statistics(const Element* x, float* scales, int m, int k) {
  grid_release();
  normalise_rows<Moments>(x, m, k, kEpsilon,
                          [=](int row, const RowScale& found) { scales[row] = found.scale; });
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    ln_linear(const float* biases, const float* scales, Element* y,
              const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap w_map,
              const __grid_constant__ TensorMap y_map, int m, int n, int k) {
  gemm_block<G, DenseTiles<G>>(
      {m, n, k}, Boxes<G, Side::m>{&x_map}, Boxes<G, Side::n>{&w_map},
      Output<Element, Transform>{y, n, &y_map, nullptr, {biases, scales, m}});
}
