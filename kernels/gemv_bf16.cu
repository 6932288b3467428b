// C[M,N] = A[M,K] @ B[N,K]^T for M up to 8, bf16 in and out, fp32 sums, at memory's speed.

#include "common/gemv.cuh"

extern "C" __global__ void __launch_bounds__(kThreads)
    gemv_bf16(const Bf16* __restrict__ a, const Bf16* __restrict__ b, Bf16* __restrict__ c, int m,
              int n, int k) {
  gemv_block(a, b, c, m, n, k);
}
