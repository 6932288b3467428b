// Y[M,K] = (silu(X Wg^T) * (X Wu^T)) Wd^T, a whole gated MLP in two launches. W[2N,K] has the rows
// of Wg and then those of Wu. 16-bit in and out, fp32 sums, by wgmma (sm_90a). N and K are
// multiples of 8.
//
// The second launch begins while the first ends: it sets itself up, and asks for weights before it
// waits for H where they come first.

#include "common/ptx/grid_dependency.cuh"
#include "common/wgmma/block.cuh"
#include "common/wgmma/halves.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

/// As in gemm_wgmma.cuh, for two products.
template <Mode kModeOf, int kM, int kN, int kK, int kDepth, int kSharersOfK, bool kStays>
struct MlpTunables {
  using Element = ::Element;
  static constexpr int kBlockM = kM;
  static constexpr int kBlockN = kN;
  static constexpr int kBlockK = kK;
  static constexpr int kStages = kDepth;
  static constexpr Mode kMode = kModeOf;
  static constexpr bool kSwap = SWAP_AB != 0;
  static constexpr bool kPersistent = kStays;
  static constexpr int kClusterM = 1;
  static constexpr int kClusterN = 1;
  static constexpr int kClusterK = kSharersOfK;
  static constexpr int kSplitK = 1;
  static constexpr Schedule kSchedule = Schedule::SCHEDULE;
  static constexpr int kGroupM = GROUP_M;
  static constexpr bool kStream = false;
  static constexpr bool kOverlap = false;
  static constexpr StoreBy kStoreBy = kStays ? StoreBy::tma : StoreBy::lanes;
};
using Up = Geometry<MlpTunables<Mode::UP_MODE, UP_BLOCK_M, UP_BLOCK_N, UP_BLOCK_K, UP_STAGES,
                                UP_CLUSTER_K, UP_PERSISTENT != 0>,
                    2>;
using Down = Geometry<MlpTunables<Mode::DOWN_MODE, DOWN_BLOCK_M, DOWN_BLOCK_N, DOWN_BLOCK_K,
                                  DOWN_STAGES, DOWN_CLUSTER_K, DOWN_PERSISTENT != 0>>;

/// Rows that the launch ahead writes.
template <typename G>
struct AwaitedBoxes : Boxes<G, Side::m> {
  __device__ __forceinline__ void copy_slice(const CopyShare& share, unsigned shared,
                                             unsigned barrier, int first_row,
                                             int first_column) const {
    grid_wait();  // costs nothing but the first time
    Boxes<G, Side::m>::copy_slice(share, shared, barrier, first_row, first_column);
  }
};

extern "C" __global__ void __launch_bounds__(Up::kThreads, 1)
    gated_mlp(Element* h, const __grid_constant__ TensorMap x_map,
              const __grid_constant__ TensorMap w_map, const __grid_constant__ TensorMap to_h_map,
              int m, int n, int k) {
  grid_release();
  gemm_block<Up, DenseTiles<Up>>({m, 2 * n, k}, Boxes<Up, Side::m>{&x_map},
                                 HalvesBoxes<Up>{&w_map, n},
                                 Output<Element, Gated<Silu>>{h, n, &to_h_map, nullptr});
}

extern "C" __global__ void __launch_bounds__(Down::kThreads, 1)
    gated_mlp_down(Element* y, const __grid_constant__ TensorMap h_map,
                   const __grid_constant__ TensorMap w_map, const __grid_constant__ TensorMap y_map,
                   int m, int n, int k) {
  gemm_block<Down, DenseTiles<Down>>({m, k, n}, AwaitedBoxes<Down>{{&h_map}},
                                     Boxes<Down, Side::n>{&w_map},
                                     Output<Element>{y, k, &y_map, nullptr});
}
