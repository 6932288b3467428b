// Y[i] = X[rows[i]] W[e]^T for the rows i of each expert e, starts[e] to starts[e + 1]: what a
// layer with a mixture of experts multiplies. 16-bit in and out, fp32 sums, by wgmma (sm_90a). K is
// a multiple of 8.

#include "common/experts/block.cuh"
#include "common/experts/gather.cuh"
#include "common/experts/reduce.cuh"
#include "common/experts/tunables.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

using G = Geometry<ExpertTunables<Element, SPLIT_K>>;

/// Ahead, with GATHER == ahead: a block a row.
extern "C" __global__ void __launch_bounds__(128)
    moe_gather(const Element* x, const int* rows, Element* copied, int k) {
  grid_release();
  copy_token(x, rows, copied, k);
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    moe_wgmma(const int* rows, const int* starts, Element* y, float* partial,
              const __grid_constant__ TensorMap copied_map,
              const __grid_constant__ TensorMap step_map, const __grid_constant__ TensorMap x_map,
              const __grid_constant__ TensorMap w_map, int experts, int n, int k) {
  expert_block<G>(starts, experts, n, k, ExpertWeights<G, STREAMED != 0>{&w_map, n},
                  tokens_of<G, Gather::GATHER>(copied_map, step_map, x_map, rows),
                  Output<Element>{y, n, nullptr, partial});
}

/// Then, when the sums over K were made in parts.
extern "C" __global__ void __launch_bounds__(128)
    moe_wgmma_reduce(const int* starts, Element* y, float* partial, int experts, int n, int k) {
  reduce_experts<G>(starts, experts, n, k, Output<Element>{y, n, nullptr, partial});
}
