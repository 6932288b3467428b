// Y[M,K] = (silu(X Wg^T) * (X Wu^T)) Wd^T, as gated_mlp, but by mma.sync (sm_80 and later). Both
// products have the same tiles. W[2N,K] has the rows of Wg and then those of Wu. 16-bit in and out,
// fp32 sums. N and K are multiples of 8.

#include "common/gemm_mma_fused.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

extern "C" __global__ void __launch_bounds__(kThreads)
    gated_mlp_mma(const Element* x, const Element* w, Element* h, float* partial, int m, int n,
                  int k) {
  fused_tile(x, w, h, partial, m, n, k, Gated<Silu>{});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    gated_mlp_mma_down(const Element* h, const Element* w, Element* y, float* partial, int m, int n,
                       int k) {
  fused_tile(h, w, y, partial, m, k, n, Identity{});
}

/// Behind each product, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    gated_mlp_mma_reduce(Element* h, const float* partial, int m, int n) {
  reduce_fused(partial, h, m, n, Gated<Silu>{});
}
extern "C" __global__ void __launch_bounds__(128)
    gated_mlp_mma_reduce_down(Element* y, const float* partial, int m, int k) {
  reduce_fused(partial, y, m, k, Identity{});
}
