// Y[M,K] = relu(X W1'^T + b1') W2' with the rows of W1 and W2 [F,K] of the active neurons only, for
// many tokens. 16-bit in and out, fp32 sums, by wgmma (sm_90a). K is a multiple of 8.

#include "common/sparse/wgmma.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

/// What both products have in common.
struct Tunables {
  using Element = ::Element;
  static constexpr bool kSwap = false;
  static constexpr bool kPersistent = false;
  static constexpr int kClusterM = 1, kClusterN = 1;
  static constexpr int kSplitK = 1;
  static constexpr Schedule kSchedule =
      Schedule::column;  // who gathers the same rows runs together
  static constexpr int kGroupM = 1;
  static constexpr bool kStream = false;
  static constexpr bool kOverlap = false;
  static constexpr StoreBy kStoreBy = StoreBy::lanes;
};
struct UpTunables : Tunables {
  static constexpr int kBlockM = UP_M;
  static constexpr Mode kMode = UP_M == 64 ? Mode::single : Mode::cooperative;
  static constexpr int kBlockN = UP_N;
  static constexpr int kBlockK = UP_K;
  static constexpr int kStages = UP_STAGES;
  static constexpr int kClusterK = UP_CLUSTER_K;
};
struct DownTunables : Tunables {
  static constexpr int kBlockM = DOWN_M;
  static constexpr Mode kMode = DOWN_M == 64 ? Mode::single : Mode::cooperative;
  static constexpr int kBlockN = DOWN_N;
  static constexpr int kBlockK = DOWN_Q;
  static constexpr int kStages = DOWN_STAGES;
  static constexpr int kClusterK = DOWN_CLUSTER_Q;
};
using Up = Geometry<UpTunables>;
using Down = Geometry<DownTunables>;

extern "C" __global__ void __launch_bounds__(GatherBlock<Up>::kThreads, GatherBlock<Up>::kBlocks)
    sparse_wgmma(const __grid_constant__ TensorMap x, const Element* w1, const Element* b1,
                 const int* index, Element* h, int m, int k, int active, int padded, int block) {
  let_down_begin<DownBegins::at_once>();
  gathered_block<Up, Weights::columns_as_rows>(
      {m, active, k}, x, ActiveNeurons(index, active, block), w1, k, b1,
      [&](const Corner& corner, const float* biases, bool live) {
        return Output<Element, BiasRelu>{
            h, padded, nullptr, nullptr, {biases, corner.n, live, GatherBlock<Up>::kThreads}};
      });
}

extern "C" __global__ void __launch_bounds__(GatherBlock<Down>::kThreads,
                                             GatherBlock<Down>::kBlocks)
    sparse_wgmma_down(const __grid_constant__ TensorMap h, const Element* w2, const int* index,
                      Element* y, int m, int k, int active, int block) {
  gathered_block<Down, Weights::sums_as_rows>({m, k, active}, h,
                                              ActiveNeurons(index, active, block), w2, k, nullptr,
                                              [&](const Corner&, const float*, bool) {
                                                return Output<Element>{y, k, nullptr, nullptr};
                                              });
}
