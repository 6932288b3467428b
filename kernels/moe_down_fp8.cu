// Y[t] = sum over j of weight[t, j] * (A[i] @ B[e]^T), i = places[t, j]: the second half of a layer
// with a mixture of experts. Rows i from starts[e] to starts[e + 1] of A belong to expert e. e4m3
// with a scale for each block in, as moe_fp8; bf16 out, fp32 sums, by wgmma (sm_90a). K is a
// multiple of 16, N of 8.

#define BLOCK_K 64  // of 16 bits
#define CLUSTER_K 1
#include "common/experts/add_up.cuh"
#include "common/experts/tunables.cuh"
#include "common/fp8/experts.cuh"
#include "common/fp8/token_lines.cuh"

struct G : AnyRowGeometry<ExpertTunables<Bf16>, PARTIALS, IN_TURN != 0, PANELS> {
  static constexpr int kRuns = RUNS;
};

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    moe_down_fp8(const float* b_scales, const int* starts, Bf16* products,
                 const __grid_constant__ TensorMap a_map,
                 const __grid_constant__ TensorMap a_step_map,
                 const __grid_constant__ TensorMap a_scales_map,
                 const __grid_constant__ TensorMap b_map, int experts, int n, int k) {
  grid_release();
  scaled_expert_block<G>(starts, experts, n, k / 2, CopiedTokens<G>{&a_map, &a_step_map},
                         ExpertWeights<G>{&b_map, n},
                         Scales{&a_scales_map, b_scales, cdiv(k, 512) * 4, cdiv(n, 128)},
                         expert_rows<G>(products, n, scaled_table_end<G>(experts)));
}

/// Then: a thread makes eight columns of Y, tokens * n / 8 threads in all.
extern "C" __global__ void __launch_bounds__(128)
    moe_down_fp8_sum(const Bf16* products, const float* weights, const int* places, Bf16* y,
                     int tokens, int top, int n) {
  add_up_experts(products, weights, places, y, tokens, top, n);
}
