// Y[t] = sum over j of weight[t, j] * (H[i] W[e]^T), i = places[t, j]: the second half of a layer
// with a mixture of experts. Rows i from starts[e] to starts[e + 1] of H belong to expert e, and
// are those of the tokens that chose it. 16-bit in and out, fp32 sums, by wgmma (sm_90a). K and N
// are multiples of 8.

#include "common/experts/add_up.cuh"
#include "common/experts/block.cuh"
#include "common/experts/tunables.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;
using G = Geometry<ExpertTunables<Element>>;

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    moe_down(const int* starts, Element* products, const __grid_constant__ TensorMap h_map,
             const __grid_constant__ TensorMap step_map, const __grid_constant__ TensorMap w_map,
             int experts, int n, int k) {
  grid_release();
  expert_block<G>(starts, experts, n, k, ExpertWeights<G, STREAMED != 0>{&w_map, n},
                  CopiedTokens<G>{&h_map, &step_map},
                  Output<Element>{products, n, nullptr, nullptr});
}

/// Then: a thread makes eight columns of Y, tokens * n / 8 threads in all.
extern "C" __global__ void __launch_bounds__(128)
    moe_down_sum(const Element* products, const float* weights, const int* places, Element* y,
                 int tokens, int top, int n) {
  add_up_experts(products, weights, places, y, tokens, top, n);
}
