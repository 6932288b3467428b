#pragma once

// Copies from global to shared memory that do not pass through registers (sm_80 and later).

/// The 32-bit address that shared-memory instructions take.
__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// Copies 16 bytes, of which those from `source_bytes` on are written as zeros and not read. Both
/// addresses are multiples of 16. Past L1: nothing here is read twice by one SM.
__device__ __forceinline__ void cp_async_16(unsigned shared, const void* global, int source_bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared), "l"(global),
               "r"(source_bytes)
               : "memory");
}

/// Closes the group of copies that this thread has issued since the last one; it may be empty.
__device__ __forceinline__ void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most kPending of this thread's groups are unfinished.
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
