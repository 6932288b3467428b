// What comes first in a layer with a mixture of experts: each token chooses the TOP experts with
// the highest logits, and all choices are put in the order of the experts. As in moe_layer.

#include "common/experts/route.cuh"

/// A warp a token.
extern "C" __global__ void __launch_bounds__(WARPS * 32)
    moe_route(const float* logits, int* chosen, float* weights, int tokens, int experts, int top) {
  grid_release();
  const long long token = blockIdx.x * static_cast<long long>(WARPS) + threadIdx.x / 32;
  if (token >= tokens) return;
  choose_experts(logits + token * experts, experts, top, chosen + token * top,
                 weights + token * top);
}

/// A block an expert.
extern "C" __global__ void __launch_bounds__(1024)
    moe_route_order(const int* chosen, int* starts, int* rows, int* places, int pairs, int top) {
  grid_wait();
  order_choices(chosen, pairs, top, starts, rows, places);
}
