// Y[t] = sum over j of weight[t, j] * (H[i] W[e]^T), i = places[t, j], as moe_down, but by mma.sync
// (sm_80 and later). 16-bit in and out, fp32 sums. K and N are multiples of 8.

#include "common/before_hopper.cuh"
#include "common/experts/add_up.cuh"
#include "common/experts/mma_tile.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

extern "C" __global__ void __launch_bounds__(kThreads)
    moe_down_mma(const int* starts, const Element* h, const Element* w, Element* products,
                 float* partial, int pairs, int experts, int n, int k, int table_offset) {
  expert_tile(starts, h, w, products, partial, pairs, experts, n, k, table_offset, Identity{});
}

/// Then, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    moe_down_mma_reduce(Element* products, const float* partial, int pairs, int n) {
  reduce_fused(partial, products, pairs, n, Identity{});
}

/// Last: a thread makes eight columns of Y, tokens * n / 8 threads in all.
extern "C" __global__ void __launch_bounds__(128)
    moe_down_mma_sum(const Element* products, const float* weights, const int* places, Element* y,
                     int tokens, int top, int n) {
  add_up_experts(products, weights, places, y, tokens, top, n);
}
