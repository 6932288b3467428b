#pragma once

// The tensor cores of a warpgroup (wgmma.cuh) on e4m3, floats of 8 bits:
//   sums[64, N] (+)= A[64, 32] @ B[N, 32]^T, both operands in shared memory.
// Operands are bytes, of which a step takes as many as of elements of 16 bits, in the same time.
// The tensor cores keep 14 bits of a sum's mantissa, so that a sum should leave them after few
// steps.

#include "common/ptx/wgmma.cuh"
#include "common/ptx/wgmma_operands.cuh"

/// N columns: a multiple of 8 up to 192.
template <int kColumns>
struct WgmmaFp8 {
  static_assert(kColumns == 0, "wgmma of fp8 is here for multiples of 8 up to 192");
};

#define ASSAY_WGMMA_FP8(N, A, B, P)                                                             \
  template <>                                                                                   \
  struct WgmmaFp8<N> {                                                                          \
    static __device__ __forceinline__ void multiply(float (&d)[N / 2], unsigned long long a,    \
                                                    unsigned long long b, int accumulate) {     \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #P                                      \
                   ", 0;\n"                                                                     \
                   "wgmma.mma_async.sync.aligned.m64n" #N                                       \
                   "k32.f32.e4m3.e4m3 {" ASSAY_REGISTERS_##N "}, %" #A ", %" #B ", p, 1, 1;\n}" \
                   : ASSAY_SUMS_##N(d)                                                          \
                   : "l"(a), "l"(b), "r"(accumulate)                                            \
                   : "memory");                                                                 \
    }                                                                                           \
  };

// clang-format off
ASSAY_WGMMA_FP8(8, 4, 5, 6)
ASSAY_WGMMA_FP8(16, 8, 9, 10)
ASSAY_WGMMA_FP8(24, 12, 13, 14)
ASSAY_WGMMA_FP8(32, 16, 17, 18)
ASSAY_WGMMA_FP8(40, 20, 21, 22)
ASSAY_WGMMA_FP8(48, 24, 25, 26)
ASSAY_WGMMA_FP8(56, 28, 29, 30)
ASSAY_WGMMA_FP8(64, 32, 33, 34)
ASSAY_WGMMA_FP8(72, 36, 37, 38)
ASSAY_WGMMA_FP8(80, 40, 41, 42)
ASSAY_WGMMA_FP8(88, 44, 45, 46)
ASSAY_WGMMA_FP8(96, 48, 49, 50)
ASSAY_WGMMA_FP8(104, 52, 53, 54)
ASSAY_WGMMA_FP8(112, 56, 57, 58)
ASSAY_WGMMA_FP8(120, 60, 61, 62)
ASSAY_WGMMA_FP8(128, 64, 65, 66)
ASSAY_WGMMA_FP8(136, 68, 69, 70)
ASSAY_WGMMA_FP8(144, 72, 73, 74)
ASSAY_WGMMA_FP8(152, 76, 77, 78)
ASSAY_WGMMA_FP8(160, 80, 81, 82)
ASSAY_WGMMA_FP8(168, 84, 85, 86)
ASSAY_WGMMA_FP8(176, 88, 89, 90)
ASSAY_WGMMA_FP8(184, 92, 93, 94)
ASSAY_WGMMA_FP8(192, 96, 97, 98)
// clang-format on

#undef ASSAY_WGMMA_FP8
