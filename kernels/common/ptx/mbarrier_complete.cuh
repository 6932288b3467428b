#pragma once

/// Takes `bytes` of those that the barrier's phase still waits for as brought.
__device__ __forceinline__ void mbarrier_complete_bytes(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(barrier),
               "r"(bytes)
               : "memory");
}
