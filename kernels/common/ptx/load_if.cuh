#pragma once

#include "common/types.cuh"

/// load_streamed (load.cuh) where `wanted`, else leaves `chunk` as it is. Into the same registers:
/// were they others, a loop would wait for them at its end, to move them.
__device__ __forceinline__ void load_streamed_if(bool wanted, Chunk& chunk, const void* global) {
  asm volatile(
      "{\n"
      ".reg .pred wanted;\n"
      "setp.ne.u32 wanted, %5, 0;\n"
      "@wanted ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];\n"
      "}"
      : "+r"(chunk.word[0]), "+r"(chunk.word[1]), "+r"(chunk.word[2]), "+r"(chunk.word[3])
      : "l"(global), "r"(static_cast<unsigned>(wanted)));
}
