#pragma once

// C[M,N] = A[M,K] @ B[N,K]^T by wgmma: what gemm_wgmma.cu and gemm_wgmma_f16.cu share. The first
// user of common/wgmma/.

#include "common/wgmma/block.cuh"
#include "common/wgmma/reduce.cuh"

/// The tunables of gemm_wgmma.yaml.
template <typename ElementOfAll>
struct GemmTunables {
  using Element = ElementOfAll;
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
  static constexpr int kSplitK = SPLIT_K;
  static constexpr Schedule kSchedule = Schedule::SCHEDULE;
  static constexpr int kGroupM = GROUP_M;
  static constexpr bool kStream = STREAM_K != 0;
  static constexpr bool kOverlap = OVERLAP != 0;
  static constexpr StoreBy kStoreBy = StoreBy::STORE;
};
