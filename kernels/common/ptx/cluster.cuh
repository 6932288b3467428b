#pragma once

// Blocks that run at the same time on neighbouring SMs and reach each other's shared memory
// (sm_90).

/// This block's number in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// The address, in the cluster's window, of block `rank`'s copy of the shared address.
__device__ __forceinline__ unsigned cluster_address(unsigned shared, unsigned rank) {
  unsigned address;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
  return address;
}

/// Arrives at the cluster's barrier; what this thread did to other blocks' shared memory is done
/// when the matching wait returns.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/// Arrives, and publishes nothing but what fence_mbarrier_init has.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Sends four floats, 16-byte aligned, to any block's shared memory, and does not wait: they count
/// as 16 bytes at a barrier of that block. Both addresses are cluster_address's.
__device__ __forceinline__ void cluster_send(unsigned cluster_shared, unsigned cluster_barrier,
                                             const float (&value)[4]) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%2, %3, %4, %5}, "
      "[%1];" ::"r"(cluster_shared),
      "r"(cluster_barrier), "f"(value[0]), "f"(value[1]), "f"(value[2]), "f"(value[3])
      : "memory");
}
