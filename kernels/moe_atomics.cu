// As moe_wgmma, for few tokens: SPLIT_K blocks share the K of a tile and add their sums by atomics,
// so that the last bits of Y vary. 16-bit in and out, fp32 sums, by wgmma (sm_90a). K is a multiple
// of 8.

#include "common/experts/block.cuh"
#include "common/experts/reduce.cuh"
#include "common/experts/tunables.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

using G = Geometry<ExpertTunables<Element, SPLIT_K, true>>;

/// Ahead: a thread four sums.
extern "C" __global__ void __launch_bounds__(256) moe_zero(float* sums) {
  grid_release();
  const long long at = blockIdx.x * 1024ll + static_cast<int>(threadIdx.x) * 4;
  *reinterpret_cast<Quad*>(sums + at) = {};
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    moe_atomics(const int* rows, const int* starts, Element* y, float* sums,
                const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap w_map,
                int experts, int n, int k) {
  expert_block<G>(starts, experts, n, k, ExpertWeights<G>{&w_map, n}, PickedTokens<G>{&x_map, rows},
                  Output<Element, AfterLaunchAhead>{y, n, nullptr, sums});
}

/// Then.
extern "C" __global__ void __launch_bounds__(128)
    moe_atomics_reduce(const int* starts, Element* y, float* sums, int experts, int n, int k) {
  reduce_experts<G>(starts, experts, n, k, Output<Element>{y, n, nullptr, sums});
}
