#pragma once

// The copy engine: boxes of a tensor between global and shared memory (sm_90). One thread issues a
// copy for all. Elements outside the tensor arrive as zeros, and count as bytes; on the way out
// they are left out.

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

/// Shows this thread's writes to shared memory to the copy engine.
__device__ __forceinline__ void fence_for_tma() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Copies a box out of `shared`, laid out as tma_load would have left it.
__device__ __forceinline__ void tma_store(const TensorMap& map, unsigned shared, int row, int col) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
      "r"(shared), "r"(col), "r"(row)
      : "memory");
}

/// Closes the group of stores that this thread has issued since the last one; it may be empty.
__device__ __forceinline__ void tma_store_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all but kPending of this thread's groups have left shared memory, which a block must
/// not give up before.
template <int kPending>
__device__ __forceinline__ void tma_store_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
