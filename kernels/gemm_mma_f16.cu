// C[M,N] = A[M,K] @ B[N,K]^T, fp16 in and out, fp32 sums, by mma.sync (sm_80 and later).

#include "common/gemm_mma.cuh"
#include "common/reduce_partials.cuh"

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_mma_f16(const F16* a, const F16* b, F16* c, float* partial, int m, int n, int k) {
  gemm_tile(a, b, c, partial, m, n, k);
}

/// Second launch, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    gemm_mma_f16_reduce(const F16*, const F16*, F16* c, const float* partial, int m, int n, int) {
  reduce_partials<kSplitK>(partial, c, static_cast<long long>(m) * n);
}
