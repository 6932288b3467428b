#pragma once

// wgmma (wgmma.cuh) of operands of which each may lie either way in shared memory: rows with K
// along them, or a row for each k. For the latter its descriptor has the stride between panels of
// 64 columns where the other way of lying ignores it.

#include "common/ptx/wgmma.cuh"
#include "common/ptx/wgmma_operands.cuh"

/// N columns: 8, 16, 32, 64, 128, 192 or 256. kKRowsA, kKRowsB: the operand has a row for each k.
template <int kColumns, bool kKRowsA, bool kKRowsB>
struct WgmmaLayouts {
  static_assert(kColumns == 0, "operands of both layouts are here for few widths");
};

#define ASSAY_WGMMA_TYPE(Element, TYPE, N, A, B, P, TA, TB)                                        \
  static __device__ __forceinline__ void multiply(Element, float(&d)[N / 2], unsigned long long a, \
                                                  unsigned long long b) {                          \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #P                                           \
                 ", 0;\n"                                                                          \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE                   \
                 " {" ASSAY_REGISTERS_##N "}, %" #A ", %" #B ", p, 1, 1, %" #TA ", %" #TB ";\n}"   \
                 : ASSAY_SUMS_##N(d)                                                               \
                 : "l"(a), "l"(b), "r"(1), "n"(int{kKRowsA}), "n"(int{kKRowsB})                    \
                 : "memory");                                                                      \
  }
#define ASSAY_WGMMA(N, A, B, P, TA, TB)                \
  template <bool kKRowsA, bool kKRowsB>                \
  struct WgmmaLayouts<N, kKRowsA, kKRowsB> {           \
    ASSAY_WGMMA_TYPE(Bf16, "bf16", N, A, B, P, TA, TB) \
    ASSAY_WGMMA_TYPE(F16, "f16", N, A, B, P, TA, TB)   \
  };

// clang-format off
ASSAY_WGMMA(8, 4, 5, 6, 7, 8)
ASSAY_WGMMA(16, 8, 9, 10, 11, 12)
ASSAY_WGMMA(32, 16, 17, 18, 19, 20)
ASSAY_WGMMA(64, 32, 33, 34, 35, 36)
ASSAY_WGMMA(128, 64, 65, 66, 67, 68)
ASSAY_WGMMA(192, 96, 97, 98, 99, 100)
ASSAY_WGMMA(256, 128, 129, 130, 131, 132)
// clang-format on

#undef ASSAY_WGMMA
#undef ASSAY_WGMMA_TYPE
