#pragma once

// What kernels that multiply tokens by the weights of their experts are tuned in.

#include "common/wgmma/geometry.cuh"

/// Those of moe_wgmma.yaml, but for GATHER. With kSplit > 1 so many blocks share the K of a tile.
/// Then they add to the same sums by atomics, or a second launch adds theirs in order.
template <typename ElementOfAll, int kSplit = 1, bool kByAtomics = false>
struct ExpertTunables {
  using Element = ElementOfAll;
  static constexpr int kBlockM = BLOCK_M;
  static constexpr int kHeights = HEIGHTS;
  static constexpr int kBlockN = BLOCK_N;
  static constexpr int kBlockK = BLOCK_K;
  static constexpr int kStages = STAGES;
  static constexpr Mode kMode = Mode::MODE;
  static constexpr bool kSwap = SWAP_AB != 0;
  static constexpr bool kPersistent = PERSISTENT != 0;
  static constexpr int kClusterM = CLUSTER_M;
  static constexpr int kClusterN = CLUSTER_N;
  static constexpr int kClusterK = CLUSTER_K;
  static constexpr int kSplitK = kSplit;
  static constexpr bool kAtomic = kByAtomics;
  static constexpr Schedule kSchedule = Schedule::SCHEDULE;
  static constexpr int kGroupM = GROUP_M;
  static constexpr bool kStream = false;
  static constexpr bool kOverlap = false;
  static constexpr StoreBy kStoreBy = StoreBy::lanes;  // a box would reach into the next expert
};
