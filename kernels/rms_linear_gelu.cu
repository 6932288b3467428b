// Y[M,N] = gelu(rms_norm(X) W^T + b): a small launch finds the scale of each row of X while a
// product multiplies X as it is. 16-bit in and out, fp32 sums, by wgmma (sm_90a). K is a multiple
// of 8.

#include "common/gemm_wgmma.cuh"
#include "common/wgmma/rms_norm.cuh"
#include "common/wgmma/row_launch.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

constexpr float kEpsilon = 1e-5f;

using G = Staging<Geometry<GemmTunables<Element>>, PANELS>;
using Tiles = DenseTiles<G>;
using Transform = RmsNormalised<Element, ExactGelu>;

/// Ahead of everything, once: the weights that are multiplied.
extern "C" __global__ void __launch_bounds__(128)
    rms_linear_gelu_scale(const Element* w, const Element* gamma, Element* scaled, int k) {
  scale_row(w, gamma, scaled, k);
}

/// Where this launch runs, blocks of the product begin late.
extern "C" __global__ void __launch_bounds__(1024)
    rms_linear_gelu_rows(const Element* x, float* scales, int m, int k) {
  grid_release();
  normalise_rows<Squares>(x, m, k, kEpsilon, [=](int row, float found) { scales[row] = found; });
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    rms_linear_gelu(const Element* bias, const float* scales, Element* y, float* partial,
                    const __grid_constant__ TensorMap x_map,
                    const __grid_constant__ TensorMap w_map,
                    const __grid_constant__ TensorMap y_map, int m, int n, int k, int) {
  gemm_block<G, Tiles>({m, n, k}, Boxes<G, Side::m>{&x_map}, Boxes<G, Side::n>{&w_map},
                       Output<Element, Transform>{y, n, &y_map, partial, {bias, scales, m, n}});
}

/// Last launch, when the sums over K were made in parts.
extern "C" __global__ void __launch_bounds__(128)
    rms_linear_gelu_reduce(const Element* bias, const float* scales, Element* y, float* partial,
                           const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
                           const __grid_constant__ TensorMap, int m, int n, int k, int workers) {
  reduce_block<G>(
      {m, n, k}, Output<Element, Transform>{y, n, nullptr, partial, {bias, scales, m, n}}, workers);
}
