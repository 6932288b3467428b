#pragma once

#include "common/types.cuh"

/// Loads 16 bytes that nothing in the launch writes and nobody reads again: past L1.
__device__ __forceinline__ Chunk load_streamed(const void* global) {
  Chunk chunk;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(chunk.word[0]), "=r"(chunk.word[1]), "=r"(chunk.word[2]), "=r"(chunk.word[3])
               : "l"(global));
  return chunk;
}
