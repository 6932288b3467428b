#pragma once

// One tensor core instruction: sum[16,8] += A[16,16] @ B[16,8], 16-bit operands, fp32 sums. Lane l
// holds rows l / 4 and l / 4 + 8, columns l % 4 * 2 and the one after, of the sums.

#include "common/types.cuh"

__device__ __forceinline__ void mma_m16n8k16(Bf16, float (&sum)[4], const unsigned (&a)[4],
                                             unsigned b_low, unsigned b_high) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}

__device__ __forceinline__ void mma_m16n8k16(F16, float (&sum)[4], const unsigned (&a)[4],
                                             unsigned b_low, unsigned b_high) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
}
