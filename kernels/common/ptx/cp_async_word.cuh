#pragma once

/// Copies 4 bytes from global to shared memory as cp_async.cuh does, or writes zeros and reads
/// nothing where `source_bytes` is 0.
__device__ __forceinline__ void cp_async_word(unsigned shared, const void* global,
                                              int source_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared), "l"(global),
               "r"(source_bytes)
               : "memory");
}
