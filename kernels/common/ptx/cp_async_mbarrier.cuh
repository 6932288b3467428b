#pragma once

/// Arrives at a barrier, an arrival of those that it was set up for, when all copies that this
/// thread has asked for by cp_async.cuh have landed. Does not wait.
__device__ __forceinline__ void mbarrier_arrive_with_copies(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
