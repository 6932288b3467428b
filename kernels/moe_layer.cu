// A layer with a mixture of experts, from the router's logits to its output:
//   Y[t] = sum over j of weight[t, j] * H[t, j] Wd[e]^T,  H[t, j] = silu(X[t] Wg[e]^T) * (X[t]
//   Wu[e]^T)
// where e is expert j of the TOP with the token's highest logits, and the weights are the softmax
// over these. W_up[e] has the N rows of Wg[e] and then those of Wu[e]. 16-bit in and out, fp32
// sums, by wgmma (sm_90a). K and N are multiples of 8.
//
// Each launch but the first may begin while the one ahead of it ends, and waits before it reads
// what that one writes. A launch that waits first and releases then lets none begin before all
// launches ahead of itself have ended: so moe_layer_down may read `starts` before it waits.

#include "common/experts/add_up.cuh"
#include "common/experts/block.cuh"
#include "common/experts/gather.cuh"
#include "common/experts/route.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

/// As in experts/tunables.cuh, for two products.
template <int kN, int kK, int kDepth, int kM, int kSharersOfTokens>
struct LayerTunables {
  using Element = ::Element;
  static constexpr int kBlockM = BLOCK_M;
  static constexpr int kHeights = HEIGHTS;
  static constexpr int kBlockN = kN;
  static constexpr int kBlockK = kK;
  static constexpr int kStages = kDepth;
  static constexpr Mode kMode = Mode::MODE;
  static constexpr bool kSwap = SWAP_AB != 0;
  static constexpr bool kPersistent = PERSISTENT != 0;
  static constexpr int kClusterM = kM;
  static constexpr int kClusterN = kSharersOfTokens;
  static constexpr int kClusterK = 1;
  static constexpr int kSplitK = 1;
  static constexpr bool kAtomic = false;
  static constexpr Schedule kSchedule = Schedule::SCHEDULE;
  static constexpr int kGroupM = GROUP_M;
  static constexpr bool kStream = false;
  static constexpr bool kOverlap = false;
  static constexpr StoreBy kStoreBy = StoreBy::lanes;
};
using Up =
    Geometry<LayerTunables<UP_BLOCK_N, UP_BLOCK_K, UP_STAGES, UP_CLUSTER_M, UP_CLUSTER_N>, 2>;
using Down = Geometry<
    LayerTunables<DOWN_BLOCK_N, DOWN_BLOCK_K, DOWN_STAGES, DOWN_CLUSTER_M, DOWN_CLUSTER_N>>;

/// A warp a token.
extern "C" __global__ void __launch_bounds__(256)
    moe_layer_route(const float* logits, int* chosen, float* weights, int tokens, int experts,
                    int top) {
  grid_release();
  const long long token = blockIdx.x * 8ll + static_cast<int>(threadIdx.x) / 32;
  if (token >= tokens) return;
  choose_experts(logits + token * experts, experts, top, chosen + token * top,
                 weights + token * top);
}

/// A block an expert.
extern "C" __global__ void __launch_bounds__(1024)
    moe_layer_order(const int* chosen, int* starts, int* rows, int* places, int pairs, int top) {
  grid_wait();
  grid_release();
  order_choices(chosen, pairs, top, starts, rows, places);
}

/// With GATHER == ahead: a block a row.
extern "C" __global__ void __launch_bounds__(128)
    moe_layer_gather(const Element* x, const int* rows, Element* copied, int k) {
  grid_wait();
  grid_release();
  copy_token(x, rows, copied, k);
}

extern "C" __global__ void __launch_bounds__(Up::kThreads, 1)
    moe_layer(const int* rows, const int* starts, Element* h,
              const __grid_constant__ TensorMap copied_map,
              const __grid_constant__ TensorMap step_map, const __grid_constant__ TensorMap x_map,
              const __grid_constant__ TensorMap w_map, int experts, int n, int k) {
  grid_wait();
  grid_release();
  expert_block<Up>(starts, experts, 2 * n, k, ExpertWeights<Up, STREAMED != 0>{&w_map, n},
                   tokens_of<Up, Gather::GATHER>(copied_map, step_map, x_map, rows),
                   Output<Element, Gated<Silu>>{h, n, nullptr, nullptr});
}

extern "C" __global__ void __launch_bounds__(Down::kThreads, 1)
    moe_layer_down(const int* starts, Element* products, const __grid_constant__ TensorMap h_map,
                   const __grid_constant__ TensorMap step_map,
                   const __grid_constant__ TensorMap w_map, int experts, int n, int k) {
  grid_release();
  expert_block<Down>(starts, experts, n, k, ExpertWeights<Down, STREAMED != 0>{&w_map, n},
                     CopiedTokens<Down>{&h_map, &step_map},
                     Output<Element>{products, n, nullptr, nullptr});
}

extern "C" __global__ void __launch_bounds__(128)
    moe_layer_sum(const Element* products, const float* weights, const int* places, Element* y,
                  int tokens, int top, int n) {
  add_up_experts(products, weights, places, y, tokens, top, n);
}
