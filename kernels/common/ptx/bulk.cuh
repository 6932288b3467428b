#pragma once

// The copy engine without a tensor (sm_90): bytes that follow one another.

/// Copies `bytes` from global memory to `shared`, and announces them as arrived at `barrier`. The
/// number and both addresses are multiples of 16.
__device__ __forceinline__ void bulk_load(unsigned shared, const void* global, unsigned bytes,
                                          unsigned barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared),
      "l"(global), "r"(bytes), "r"(barrier)
      : "memory");
}
