#pragma once

// The copy engine (tma.cuh) on a stack of matrices.

#include "common/ptx/tma.cuh"

/// tma_load of a box of matrix `layer`: rows beyond the matrix are zeros, not the next one's.
__device__ __forceinline__ void tma_load_3d(unsigned shared, const TensorMap& map, unsigned barrier,
                                            int layer, int row, int col) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared),
      "l"(&map), "r"(barrier), "r"(col), "r"(row), "r"(layer)
      : "memory");
}

/// The same into every block of the cluster whose bit is set in `blocks`.
__device__ __forceinline__ void tma_load_3d_multicast(unsigned shared, const TensorMap& map,
                                                      unsigned barrier, int layer, int row, int col,
                                                      unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(shared),
      "l"(&map), "r"(barrier), "r"(col), "r"(row), "r"(layer), "h"(blocks)
      : "memory");
}
