#pragma once

// The copy engine: boxes of a tensor between global and shared memory (sm_90). One thread issues a
// copy for all. Elements outside the tensor arrive as zeros, and count as bytes.

/// The driver's description of a tensor, a kernel parameter: `const __grid_constant__ TensorMap`.
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

__device__ __forceinline__ void tma_prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/// Copies the box whose first element is (row, col) to `shared` (aligned to the swizzle: 1024 for
/// 128 bytes) and announces its bytes as arrived at `barrier`.
__device__ __forceinline__ void tma_load(unsigned shared, const TensorMap& map, unsigned barrier,
                                         int row, int col) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(shared),
      "l"(&map), "r"(barrier), "r"(col), "r"(row)
      : "memory");
}

/// The same into every block of the cluster whose bit is set in `blocks`, at the same address and
/// barrier in each.
__device__ __forceinline__ void tma_load_multicast(unsigned shared, const TensorMap& map,
                                                   unsigned barrier, int row, int col,
                                                   unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(shared),
      "l"(&map), "r"(barrier), "r"(col), "r"(row), "h"(blocks)
      : "memory");
}
