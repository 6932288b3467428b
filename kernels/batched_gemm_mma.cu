// C[b] = A[b] @ W[b]^T for each b of a stack, 16-bit in and out, fp32 sums, by mma.sync (sm_80 and
// later).

#include "common/gemm_mma.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

extern "C" __global__ void __launch_bounds__(kThreads)
    batched_gemm_mma(const Element* a, const Element* w, Element* c, int m, int n, int k) {
  const long long b = blockIdx.y;
  gemm_tile(a + b * m * k, w + b * n * k, c + b * m * n, nullptr, m, n, k);
}
