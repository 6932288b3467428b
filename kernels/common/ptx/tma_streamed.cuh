#pragma once

// tma_load and tma_load_3d of data that is read once: these data leave L2 before others.

#include "common/ptx/tma.cuh"

/// What createpolicy.fractional.L2::evict_first makes for all of a copy. As a constant, it takes no
/// registers of the thread that copies, which may have 24.
constexpr unsigned long long kEvictFirst = 0x12f0000000000000;

/// tma_load (tma.cuh).
__device__ __forceinline__ void tma_load_streamed(unsigned shared, const TensorMap& map,
                                                  unsigned barrier, int row, int col) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
      "l"(&map), "r"(barrier), "r"(col), "r"(row), "l"(kEvictFirst)
      : "memory");
}

/// tma_load_3d (tma_3d.cuh).
__device__ __forceinline__ void tma_load_3d_streamed(unsigned shared, const TensorMap& map,
                                                     unsigned barrier, int layer, int row,
                                                     int col) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
      "l"(&map), "r"(barrier), "r"(col), "r"(row), "r"(layer), "l"(kEvictFirst)
      : "memory");
}
