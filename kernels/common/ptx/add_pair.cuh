#pragma once

/// Adds to two neighbouring floats in global memory, atomically to each. The address is a multiple
/// of 8. In one instruction from Hopper on.
__device__ __forceinline__ void add_pair(float* to, float first, float second) {
#if __CUDA_ARCH__ >= 900
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second)
               : "memory");
#else
  atomicAdd(to, first);
  atomicAdd(to + 1, second);
#endif
}
