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

/// Arrives at the cluster's barrier; what this thread wrote is visible after the matching wait.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Stores four floats, 16-byte aligned, in any block's shared memory.
__device__ __forceinline__ void cluster_store(unsigned cluster_shared, const float (&value)[4]) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(cluster_shared),
               "f"(value[0]), "f"(value[1]), "f"(value[2]), "f"(value[3])
               : "memory");
}
