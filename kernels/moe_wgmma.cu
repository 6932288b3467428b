// Y[i] = X[rows[i]] W[e]^T for the rows i of each expert e, starts[e] to starts[e + 1]: what a
// layer with a mixture of experts multiplies. 16-bit in and out, fp32 sums, by wgmma (sm_90a). K is
// a multiple of 8.

#include "common/experts/block.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

struct Tunables {
  using Element = ELEMENT_TYPE;
  static constexpr int kBlockM = BLOCK_M;
  static constexpr int kBlockN = BLOCK_N;
  static constexpr int kBlockK = BLOCK_K;
  static constexpr int kStages = STAGES;
  static constexpr Mode kMode = Mode::MODE;
  static constexpr bool kSwap = SWAP_AB != 0;
  static constexpr bool kPersistent = PERSISTENT != 0;
  static constexpr int kClusterM = CLUSTER_M;
  static constexpr int kClusterN = CLUSTER_N;
  static constexpr int kClusterK = CLUSTER_K;
  static constexpr int kSplitK = 1;
  static constexpr Schedule kSchedule = Schedule::SCHEDULE;
  static constexpr int kGroupM = GROUP_M;
  static constexpr bool kStream = false;
  static constexpr bool kOverlap = false;
  static constexpr StoreBy kStoreBy = StoreBy::lanes;  // a box would reach into the next expert
};

using G = Geometry<Tunables>;

/// Ahead, with GATHER == ahead: a block a row.
extern "C" __global__ void __launch_bounds__(128)
    moe_gather(const Element* x, const int* rows, Element* copied, int k) {
  grid_release();
  copy_token(x, rows, copied, k);
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    moe_wgmma(const int* rows, const int* starts, Element* y,
              const __grid_constant__ TensorMap copied_map, const __grid_constant__ TensorMap x_map,
              const __grid_constant__ TensorMap w_map, int experts, int n, int k) {
  expert_block<G>(starts, experts, n, k, ExpertWeights<G>{&w_map},
                  tokens_of<G, Gather::GATHER>(copied_map, x_map, rows),
                  Output<Element>{y, n, nullptr, nullptr});
}
