// C[M,N] = A[M,K] @ B[N,K]^T, fp16 in and out, fp32 sums, by wgmma (sm_90a). K is a multiple of 8.

#include "common/gemm_wgmma.cuh"

using G = Geometry<GemmTunables<F16>>;
using Tiles = DenseTiles<G>;

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    gemm_wgmma_f16(const F16*, const F16*, F16* c, float* partial,
                   const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                   const __grid_constant__ TensorMap c_map, int m, int n, int k, int) {
  gemm_block<G, Tiles>({m, n, k}, Boxes<G, Side::m>{&a_map}, Boxes<G, Side::n>{&b_map},
                       Output<F16>{c, n, &c_map, partial});
}

/// Second launch, when the sums over K were made in parts.
extern "C" __global__ void __launch_bounds__(128)
    gemm_wgmma_f16_reduce(const F16*, const F16*, F16* c, float* partial,
                          const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
                          const __grid_constant__ TensorMap, int m, int n, int k, int workers) {
  grid_wait();
  reduce_block<G>({m, n, k}, Output<F16>{c, n, nullptr, partial}, workers);
}
