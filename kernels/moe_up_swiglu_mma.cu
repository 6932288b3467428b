// H[i] = silu(x Wg[e]^T) * (x Wu[e]^T), x = X[rows[i]], for the rows i of each expert e, as
// moe_up_swiglu, but by mma.sync (sm_80 and later). 16-bit in and out, fp32 sums. K is a multiple
// of 8.

#include "common/experts/gather.cuh"
#include "common/experts/mma_tile.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

/// Ahead: a block a row.
extern "C" __global__ void __launch_bounds__(128)
    moe_up_swiglu_mma_gather(const Element* x, const int* rows, Element* copied, int k) {
  copy_token(x, rows, copied, k);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    moe_up_swiglu_mma(const int* starts, const Element* copied, const Element* w, Element* h,
                      float* partial, int pairs, int experts, int n, int k, int table_offset) {
  expert_tile(starts, copied, w, h, partial, pairs, experts, n, k, table_offset, Gated<Silu>{});
}

/// Then, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    moe_up_swiglu_mma_reduce(Element* h, const float* partial, int pairs, int n) {
  reduce_fused(partial, h, pairs, n, Gated<Silu>{});
}
