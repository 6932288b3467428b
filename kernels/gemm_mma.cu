// C[M,N] = A[M,K] @ B[N,K]^T, bf16 in and out, fp32 sums, by mma.sync (sm_80 and later).

#include "common/gemm_mma.cuh"
#include "common/reduce_partials.cuh"

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_mma(const Bf16* a, const Bf16* b, Bf16* c, float* partial, int m, int n, int k) {
  gemm_tile(a, b, c, partial, m, n, k);
}

/// Second launch, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    gemm_mma_reduce(const Bf16*, const Bf16*, Bf16* c, const float* partial, int m, int n, int) {
  reduce_partials<kSplitK>(partial, c, static_cast<long long>(m) * n);
}
