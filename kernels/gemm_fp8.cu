// C[M,N] = the sum over blocks of 128 columns of their scales times A[M,K] @ B[N,K]^T: e4m3 in,
// bf16 out, fp32 sums, by wgmma (sm_90a). K is a multiple of 16.

#define BLOCK_K 64  // of 16 bits
#define OVERLAP 0
#include "common/fp8/block.cuh"
#include "common/gemm_wgmma.cuh"

using G = ScaledGeometry<GemmTunables<Bf16>, PARTIALS, IN_TURN != 0, PANELS, 1, UNROLL,
                         STAGGER != 0, LOOK_AHEAD != 0>;
using Tiles = DenseTiles<G>;

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    gemm_fp8(const float* b_scales, Bf16* c, float* partial,
             const __grid_constant__ TensorMap a_map,
             const __grid_constant__ TensorMap a_scales_map,
             const __grid_constant__ TensorMap b_map, const __grid_constant__ TensorMap c_map,
             int m, int n, int k, int) {
  scaled_gemm_block<G, Tiles>({m, n, k / 2}, Boxes<G, Side::m>{&a_map}, Boxes<G, Side::n>{&b_map},
                              Scales{&a_scales_map, b_scales, cdiv(k, 512) * 4, cdiv(n, 128)},
                              Output<Bf16>{c, n, &c_map, partial});
}

/// Second launch, when the sums over K were made in parts.
extern "C" __global__ void __launch_bounds__(128)
    gemm_fp8_reduce(const float*, Bf16* c, float* partial, const __grid_constant__ TensorMap,
                    const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
                    const __grid_constant__ TensorMap, int m, int n, int k, int workers) {
  grid_wait();
  reduce_block<G>({m, n, k / 2}, Output<Bf16>{c, n, nullptr, partial}, workers);
}
