// H[M,N] = silu(X Wg^T) * (X Wu^T), the first half of a gated MLP, in one pass over X. W[2N,K] has
// the rows of Wg and then those of Wu. bf16 in and out, fp32 sums, by wgmma (sm_90a). K is a
// multiple of 8.

#include "common/gemm_wgmma.cuh"
#include "common/wgmma/halves.cuh"

using G = Geometry<GemmTunables<Bf16>, 2>;
using Tiles = DenseTiles<G>;
using Gate = Gated<Silu>;

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    gated_up(const Bf16*, const Bf16*, Bf16* h, float* partial,
             const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap w_map,
             const __grid_constant__ TensorMap h_map, int m, int n, int k, int) {
  gemm_block<G, Tiles>({m, 2 * n, k}, Boxes<G, Side::m>{&x_map},
                       HalvesBoxes<G, STREAMED != 0>{&w_map, n},
                       Output<Bf16, Gate>{h, n, &h_map, partial});
}

/// Second launch, when the sums over K were made in parts.
extern "C" __global__ void __launch_bounds__(128)
    gated_up_reduce(const Bf16*, const Bf16*, Bf16* h, float* partial,
                    const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
                    const __grid_constant__ TensorMap, int m, int n, int k, int workers) {
  grid_wait();
  reduce_block<G>({m, 2 * n, k}, Output<Bf16, Gate>{h, n, nullptr, partial}, workers);
}
