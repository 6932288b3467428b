// Y[M,N] = gelu(layer_norm(X) W^T + b) of floats, on tensor cores as tf32 (sm_90a): one launch
// normalises the rows of X and rounds them to tf32, or splits them for products that are good to
// fp32; the next multiplies. PRODUCTS is 1 or 3 (common/tf32/parts.cuh). K is a multiple of 4,
// N is even.

#include "common/tf32/block.cuh"
#include "common/tf32/gelu.cuh"
#include "common/tf32/normalise.cuh"

constexpr int kProducts = PRODUCTS;
constexpr int kParts = Products<kProducts>::kParts;
constexpr float kEpsilon = 1e-5f;

struct Tunables {
  using Element = float;
  static constexpr int kBlockM = BLOCK_M;
  static constexpr int kBlockN = BLOCK_N;
  static constexpr int kBlockK = 2 * BLOCK_K;  // columns of 16 bits
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
  static constexpr StoreBy kStoreBy = StoreBy::lanes;
};

using G = FloatGeometry<Tunables>;

/// Ahead of everything, once: the weights as they are multiplied. A block a row.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_gelu_f32_split(const float* w, float* w_parts, int k) {
  split_row<kParts>(w, w_parts, k);
}

/// A block a row.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_gelu_f32_normalise(const float* x, const float* gamma, const float* beta,
                                 float* x_parts, int k) {
  grid_release();
  normalise_row<kParts>(x, gamma, beta, x_parts, k, kEpsilon);
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    ln_linear_gelu_f32(const float* bias, float* y, const __grid_constant__ TensorMap x_map,
                       const __grid_constant__ TensorMap w_map, int m, int n, int k) {
  using Transform = Biased<FloatGelu>;
  float_block<G, kProducts>(x_map, w_map, m, n, k,
                            Output<float, Transform>{y, n, nullptr, nullptr, {bias, n}});
}
