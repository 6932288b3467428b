// H[i] = silu(X[rows[i]] Wg[e]^T) * (X[rows[i]] Wu[e]^T) for the rows i of each expert e, starts[e]
// to starts[e + 1]: the first half of a layer with a mixture of experts, in one pass over the
// tokens. W[e] has the N rows of Wg[e] and then those of Wu[e]. 16-bit in and out, fp32 sums, by
// wgmma (sm_90a). K is a multiple of 8.

#include "common/experts/block.cuh"
#include "common/experts/gather.cuh"
#include "common/experts/tunables.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;
using G = Geometry<ExpertTunables<Element>, 2>;

/// Ahead, with GATHER == ahead: a block a row.
extern "C" __global__ void __launch_bounds__(128)
    moe_gather(const Element* x, const int* rows, Element* copied, int k) {
  grid_release();
  copy_token(x, rows, copied, k);
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    moe_up_swiglu(const int* rows, const int* starts, Element* h,
                  const __grid_constant__ TensorMap copied_map,
                  const __grid_constant__ TensorMap step_map,
                  const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap w_map,
                  int experts, int n, int k) {
  expert_block<G>(starts, experts, 2 * n, k, ExpertWeights<G, STREAMED != 0>{&w_map, n},
                  tokens_of<G, Gather::GATHER>(copied_map, step_map, x_map, rows),
                  Output<Element, Gated<Silu>>{h, n, nullptr, nullptr});
}
