// C[M,N] = A[M,K] @ B[N,K]^T, bf16 in and out, fp32 sums, by wgmma (sm_90a). K is a multiple of 8.

#include "common/gemm_wgmma.cuh"
#include "common/reduce_partials.cuh"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    gemm_wgmma(const Bf16*, const Bf16*, Bf16* c, float* partial,
               const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
               int m, int n, int k) {
  gemm_wgmma_block(a_map, b_map, c, partial, m, n, k);
}

/// Second launch, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    gemm_wgmma_reduce(const Bf16*, const Bf16*, Bf16* c, const float* partial,
                      const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, int m,
                      int n, int) {
  grid_wait();
  reduce_partials<kSplitK>(partial, c, static_cast<long long>(m) * n);
}
