#pragma once

// wgmma (wgmma.cuh) of the widths between the multiples of 16.

#include "common/ptx/wgmma.cuh"
#include "common/ptx/wgmma_operands.cuh"

#define ASSAY_WGMMA_TYPE(Element, TYPE, N, A, B, P)                                                \
  static __device__ __forceinline__ void multiply(Element, float(&d)[N / 2], unsigned long long a, \
                                                  unsigned long long b, int accumulate) {          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #P                                           \
                 ", 0;\n"                                                                          \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                   \
                 " {" ASSAY_REGISTERS_##N "}, %" #A ", %" #B ", p, 1, 1, 0, 0;\n}"                 \
                 : ASSAY_SUMS_##N(d)                                                               \
                 : "l"(a), "l"(b), "r"(accumulate)                                                 \
                 : "memory");                                                                      \
  }
#define ASSAY_WGMMA(N, A, B, P)                \
  template <>                                  \
  struct Wgmma<N> {                            \
    ASSAY_WGMMA_TYPE(Bf16, "bf16", N, A, B, P) \
    ASSAY_WGMMA_TYPE(F16, "f16", N, A, B, P)   \
  };

// clang-format off
ASSAY_WGMMA(24, 12, 13, 14)
ASSAY_WGMMA(40, 20, 21, 22)
ASSAY_WGMMA(56, 28, 29, 30)
ASSAY_WGMMA(72, 36, 37, 38)
ASSAY_WGMMA(88, 44, 45, 46)
ASSAY_WGMMA(104, 52, 53, 54)
ASSAY_WGMMA(120, 60, 61, 62)
ASSAY_WGMMA(136, 68, 69, 70)
ASSAY_WGMMA(152, 76, 77, 78)
// clang-format on

#undef ASSAY_WGMMA
#undef ASSAY_WGMMA_TYPE
