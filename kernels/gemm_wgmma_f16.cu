// C[M,N] = A[M,K] @ B[N,K]^T, fp16 in and out, fp32 sums, by wgmma (sm_90a). K is a multiple of 8.

#include "common/gemm_wgmma.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/reduce_fragments.cuh"

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    gemm_wgmma_f16(const F16*, const F16*, F16* c, float* partial,
                   const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                   const __grid_constant__ TensorMap c_map, int m, int n, int k, int) {
  gemm_wgmma_block<F16>({a_map, b_map, c_map, c, partial, m, n, k});
}

/// Second launch, when the sums over K were made in parts.
extern "C" __global__ void __launch_bounds__(128)
    gemm_wgmma_f16_reduce(const F16*, const F16*, F16* c, const float* partial,
                          const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
                          const __grid_constant__ TensorMap, int m, int n, int k, int workers) {
  grid_wait();
  reduce_fragments(partial, c, m, n, k, workers);
}
