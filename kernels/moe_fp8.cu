// C[i] = the sum over blocks of 128 columns of their scales times A[i] @ B[e]^T for the rows i of
// each expert e, starts[e] to starts[e + 1]: e4m3 in, bf16 out, fp32 sums, by wgmma (sm_90a). K is
// a multiple of 16, N of 8.

#define BLOCK_K 64  // of 16 bits
#define CLUSTER_K 1
#include "common/experts/tunables.cuh"
#include "common/fp8/experts.cuh"
#include "common/fp8/token_lines.cuh"

struct G : AnyRowGeometry<ExpertTunables<Bf16>, PARTIALS, IN_TURN != 0, PANELS> {
  static constexpr int kRuns = RUNS;
};

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    moe_fp8(const float* b_scales, const int* starts, Bf16* c,
            const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap a_step_map,
            const __grid_constant__ TensorMap a_scales_map, const __grid_constant__ TensorMap b_map,
            int experts, int n, int k) {
  scaled_expert_block<G>(starts, experts, n, k / 2, CopiedTokens<G>{&a_map, &a_step_map},
                         ExpertWeights<G>{&b_map, n},
                         Scales{&a_scales_map, b_scales, cdiv(k, 512) * 4, cdiv(n, 128)},
                         expert_rows<G>(c, n, scaled_table_end<G>(experts)));
}
