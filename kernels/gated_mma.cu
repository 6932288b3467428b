// H[M,N] = silu(X Wg^T) * (X Wu^T), as gated_up, but by mma.sync (sm_80 and later). W[2N,K] has the
// rows of Wg and then those of Wu. 16-bit in and out, fp32 sums. K is a multiple of 8.

#include "common/gemm_mma_fused.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

extern "C" __global__ void __launch_bounds__(kThreads)
    gated_mma(const Element* x, const Element* w, Element* h, float* partial, int m, int n, int k) {
  fused_tile(x, w, h, partial, m, n, k, Gated<Silu>{});
}

/// Second launch, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    gated_mma_reduce(Element* h, const float* partial, int m, int n) {
  reduce_fused(partial, h, m, n, Gated<Silu>{});
}
