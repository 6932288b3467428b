#pragma once

// What lies in the dynamic shared memory of a block that multiplies with wgmma. Compiled by the
// host too: a test compares the contracts' `smem` with it.

#include "common/wgmma/geometry.cuh"
#include "common/wgmma/ring.cuh"

/// In this order: the ring's stages, the warps' staging, what other blocks of the cluster send, the
/// ring's barriers and the barrier of what is sent. Kernels that have more lay it behind kEnd.
template <typename G>
struct SharedLayout {
  static constexpr int kStaging = G::kRingBytes;
  static constexpr int kReceived =
      kStaging + (G::kStaged ? G::kConsumers * 4 * G::kStagingBytes : 0);
  static constexpr int kBarriers = kReceived + G::kReceivedBytes;
  static constexpr int kSumBarrier = kBarriers + kRingBarrierBytes<G::kStages>;
  static constexpr int kEnd = kSumBarrier + 8;
};
