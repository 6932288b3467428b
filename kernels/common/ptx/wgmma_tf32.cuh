#pragma once

// The tensor cores of a warpgroup (wgmma.cuh) on tf32:
//   sums[64, N] += A[64, 8] @ B[N, 8]^T, both operands in shared memory, fp32 sums.
// Operands are floats, of which it reads the upper 19 bits. Eight of them have the bytes that
// sixteen elements of 16 bits have, and a step takes as long.

#include "common/ptx/wgmma.cuh"
#include "common/ptx/wgmma_operands.cuh"

/// N columns.
template <int kColumns>
struct WgmmaTf32 {
  static_assert(kColumns == 0, "wgmma of tf32 is here for 8, 16 and multiples of 32 up to 256");
};

#define ASSAY_WGMMA_TF32(N, A, B, P)                                                               \
  template <>                                                                                      \
  struct WgmmaTf32<N> {                                                                            \
    static __device__ __forceinline__ void multiply(float (&d)[N / 2], unsigned long long a,       \
                                                    unsigned long long b) {                        \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #P                                         \
                   ", 0;\n"                                                                        \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32 {" ASSAY_REGISTERS_##N \
                   "}, %" #A ", %" #B ", p, 1, 1;\n}"                                              \
                   : ASSAY_SUMS_##N(d)                                                             \
                   : "l"(a), "l"(b), "r"(1)                                                        \
                   : "memory");                                                                    \
    }                                                                                              \
  };

// clang-format off
ASSAY_WGMMA_TF32(8, 4, 5, 6)
ASSAY_WGMMA_TF32(16, 8, 9, 10)
ASSAY_WGMMA_TF32(32, 16, 17, 18)
ASSAY_WGMMA_TF32(64, 32, 33, 34)
ASSAY_WGMMA_TF32(96, 48, 49, 50)
ASSAY_WGMMA_TF32(128, 64, 65, 66)
ASSAY_WGMMA_TF32(160, 80, 81, 82)
ASSAY_WGMMA_TF32(192, 96, 97, 98)
ASSAY_WGMMA_TF32(224, 112, 113, 114)
ASSAY_WGMMA_TF32(256, 128, 129, 130)
// clang-format on

#undef ASSAY_WGMMA_TF32
