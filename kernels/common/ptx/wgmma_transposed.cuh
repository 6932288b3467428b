#pragma once

// wgmma (wgmma.cuh) whose second operand is transposed:
//   sums[64, N] += A[64, 16] @ B[16, N], both operands in shared memory, fp32 sums.
// B lies in panels of 64 columns, 128 bytes a row, swizzled. In its descriptor the stride between
// panels takes the place that the other way of lying ignores.

#include "common/ptx/wgmma.cuh"
#include "common/ptx/wgmma_operands.cuh"

/// N columns: 64 or 128.
template <int kColumns>
struct WgmmaTransposed {
  static_assert(kColumns == 0, "a transposed operand is here for 64 and 128 columns");
};

#define ASSAY_WGMMA_TYPE(Element, TYPE, N, A, B, P)                                                \
  static __device__ __forceinline__ void multiply(Element, float(&d)[N / 2], unsigned long long a, \
                                                  unsigned long long b) {                          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #P                                           \
                 ", 0;\n"                                                                          \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                   \
                 " {" ASSAY_REGISTERS_##N "}, %" #A ", %" #B ", p, 1, 1, 0, 1;\n}"                 \
                 : ASSAY_SUMS_##N(d)                                                               \
                 : "l"(a), "l"(b), "r"(1)                                                          \
                 : "memory");                                                                      \
  }
#define ASSAY_WGMMA(N, A, B, P)                \
  template <>                                  \
  struct WgmmaTransposed<N> {                  \
    ASSAY_WGMMA_TYPE(Bf16, "bf16", N, A, B, P) \
    ASSAY_WGMMA_TYPE(F16, "f16", N, A, B, P)   \
  };

// clang-format off
ASSAY_WGMMA(64, 32, 33, 34)
ASSAY_WGMMA(128, 64, 65, 66)
// clang-format on

#undef ASSAY_WGMMA
#undef ASSAY_WGMMA_TYPE
