#pragma once

// wgmma (wgmma.cuh) of the widths between the multiples of 16.

#include "common/ptx/wgmma.cuh"

// clang-format off
#define ASSAY_REGISTERS_8 "%0,%1,%2,%3"
#define ASSAY_REGISTERS_24 ASSAY_REGISTERS_8 ",%4,%5,%6,%7,%8,%9,%10,%11"
#define ASSAY_REGISTERS_40 ASSAY_REGISTERS_24 ",%12,%13,%14,%15,%16,%17,%18,%19"
#define ASSAY_REGISTERS_56 ASSAY_REGISTERS_40 ",%20,%21,%22,%23,%24,%25,%26,%27"
#define ASSAY_REGISTERS_72 ASSAY_REGISTERS_56 ",%28,%29,%30,%31,%32,%33,%34,%35"
#define ASSAY_REGISTERS_88 ASSAY_REGISTERS_72 ",%36,%37,%38,%39,%40,%41,%42,%43"
#define ASSAY_REGISTERS_104 ASSAY_REGISTERS_88 ",%44,%45,%46,%47,%48,%49,%50,%51"
#define ASSAY_REGISTERS_120 ASSAY_REGISTERS_104 ",%52,%53,%54,%55,%56,%57,%58,%59"
#define ASSAY_REGISTERS_136 ASSAY_REGISTERS_120 ",%60,%61,%62,%63,%64,%65,%66,%67"
#define ASSAY_REGISTERS_152 ASSAY_REGISTERS_136 ",%68,%69,%70,%71,%72,%73,%74,%75"
#define ASSAY_SUMS_8(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define ASSAY_SUMS_24(d) ASSAY_SUMS_8(d), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11])
#define ASSAY_SUMS_40(d) ASSAY_SUMS_24(d), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19])
#define ASSAY_SUMS_56(d) ASSAY_SUMS_40(d), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
  "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27])
#define ASSAY_SUMS_72(d) ASSAY_SUMS_56(d), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
  "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35])
#define ASSAY_SUMS_88(d) ASSAY_SUMS_72(d), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
  "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43])
#define ASSAY_SUMS_104(d) ASSAY_SUMS_88(d), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
  "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51])
#define ASSAY_SUMS_120(d) ASSAY_SUMS_104(d), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
  "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59])
#define ASSAY_SUMS_136(d) ASSAY_SUMS_120(d), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), \
  "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67])
#define ASSAY_SUMS_152(d) ASSAY_SUMS_136(d), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
  "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75])
// clang-format on
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
#undef ASSAY_REGISTERS_8
#undef ASSAY_REGISTERS_24
#undef ASSAY_REGISTERS_40
#undef ASSAY_REGISTERS_56
#undef ASSAY_REGISTERS_72
#undef ASSAY_REGISTERS_88
#undef ASSAY_REGISTERS_104
#undef ASSAY_REGISTERS_120
#undef ASSAY_REGISTERS_136
#undef ASSAY_REGISTERS_152
#undef ASSAY_SUMS_8
#undef ASSAY_SUMS_24
#undef ASSAY_SUMS_40
#undef ASSAY_SUMS_56
#undef ASSAY_SUMS_72
#undef ASSAY_SUMS_88
#undef ASSAY_SUMS_104
#undef ASSAY_SUMS_120
#undef ASSAY_SUMS_136
#undef ASSAY_SUMS_152
