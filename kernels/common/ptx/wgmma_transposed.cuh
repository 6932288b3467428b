#pragma once

// wgmma (wgmma.cuh) whose second operand is transposed:
//   sums[64, N] += A[64, 16] @ B[16, N], both operands in shared memory, fp32 sums.
// B lies in panels of 64 columns, 128 bytes a row, swizzled. In its descriptor the stride between
// panels takes the place that the other way of lying ignores.

#include "common/ptx/wgmma.cuh"

/// N columns: 64 or 128.
template <int kColumns>
struct WgmmaTransposed {
  static_assert(kColumns == 0, "a transposed operand is here for 64 and 128 columns");
};

// Operand lists, as in wgmma.cuh.
// clang-format off
#define ASSAY_REGISTERS_64 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15" \
  ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define ASSAY_REGISTERS_128 ASSAY_REGISTERS_64 \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47" \
  ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define ASSAY_SUMS_64(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), \
  "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), \
  "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), \
  "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), \
  "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define ASSAY_SUMS_128(d) ASSAY_SUMS_64(d), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), \
  "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), \
  "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), \
  "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), \
  "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
// clang-format on
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
#undef ASSAY_SUMS_64
#undef ASSAY_SUMS_128
#undef ASSAY_REGISTERS_64
#undef ASSAY_REGISTERS_128
