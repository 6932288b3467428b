// H[i] = silu(A[i] @ Bg[e]^T) * (A[i] @ Bu[e]^T) for the rows i of each expert e, starts[e] to
// starts[e + 1]: the first half of a layer with a mixture of experts. B[e] has the N rows of Bg[e]
// and then those of Bu[e]. e4m3 with a scale for each block in, as moe_fp8; out e4m3 with a scale
// for each 1 x 128; fp32 sums, by wgmma (sm_90a). K is a multiple of 16, N of 128.

#define SWAP_AB 1
#define BLOCK_N 256  // 128 of either product
#define BLOCK_K 64   // of 16 bits
#define CLUSTER_M 1
#define CLUSTER_K 1
#define SCHEDULE row
#define GROUP_M 1
#include "common/experts/tunables.cuh"
#include "common/fp8/experts.cuh"
#include "common/fp8/swiglu_rows.cuh"

struct G : AnyRowGeometry<ExpertTunables<Bf16>, 1, false, 1, 2> {
  static constexpr int kRuns = RUNS;
};

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    moe_up_swiglu_fp8(const float* b_scales, const int* starts, unsigned char* h, float* h_scales,
                      const __grid_constant__ TensorMap a_map,
                      const __grid_constant__ TensorMap a_step_map,
                      const __grid_constant__ TensorMap a_scales_map,
                      const __grid_constant__ TensorMap b_map, int rows, int experts, int n,
                      int k) {
  scaled_expert_block<G>(starts, experts, 2 * n, k / 2, CopiedTokens<G>{&a_map, &a_step_map},
                         ExpertWeights<G, STREAMED != 0>{&b_map, n},
                         Scales{&a_scales_map, b_scales, cdiv(k, 512) * 4, n / 64},
                         SwigluRows{h, h_scales, rows, n, scaled_table_end<G>(experts)});
}
