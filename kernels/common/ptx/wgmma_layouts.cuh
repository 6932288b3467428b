#pragma once

// wgmma (wgmma.cuh) of operands of which each may lie either way in shared memory: rows with K
// along them, or a row for each k. For the latter its descriptor has the stride between panels of
// 64 columns where the other way of lying ignores it.

#include "common/ptx/wgmma.cuh"

/// N columns: 8, 16, 32, 64, 128, 192 or 256. kKRowsA, kKRowsB: the operand has a row for each k.
template <int kColumns, bool kKRowsA, bool kKRowsB>
struct WgmmaLayouts {
  static_assert(kColumns == 0, "operands of both layouts are here for few widths");
};

// Operand lists, as in wgmma.cuh.
// clang-format off
#define ASSAY_REGISTERS_8 "%0,%1,%2,%3"
#define ASSAY_REGISTERS_16 ASSAY_REGISTERS_8 ",%4,%5,%6,%7"
#define ASSAY_REGISTERS_32 ASSAY_REGISTERS_16 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define ASSAY_REGISTERS_64 ASSAY_REGISTERS_32 ",%16,%17,%18,%19,%20,%21,%22,%23" \
  ",%24,%25,%26,%27,%28,%29,%30,%31"
#define ASSAY_REGISTERS_128 ASSAY_REGISTERS_64 \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47" \
  ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define ASSAY_REGISTERS_192 ASSAY_REGISTERS_128 \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79" \
  ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define ASSAY_REGISTERS_256 ASSAY_REGISTERS_192 \
  ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111" \
  ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define ASSAY_SUMS_8(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define ASSAY_SUMS_16(d) ASSAY_SUMS_8(d), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define ASSAY_SUMS_32(d) ASSAY_SUMS_16(d), \
  "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), \
  "+f"(d[15])
#define ASSAY_SUMS_64(d) ASSAY_SUMS_32(d), \
  "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), \
  "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), \
  "+f"(d[30]), "+f"(d[31])
#define ASSAY_SUMS_128(d) ASSAY_SUMS_64(d), \
  "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), \
  "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), \
  "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), \
  "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), \
  "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define ASSAY_SUMS_192(d) ASSAY_SUMS_128(d), \
  "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), \
  "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), \
  "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), \
  "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), \
  "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define ASSAY_SUMS_256(d) ASSAY_SUMS_192(d), \
  "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), \
  "+f"(d[103]), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), \
  "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), \
  "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), \
  "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
// clang-format on
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
#undef ASSAY_SUMS_8
#undef ASSAY_SUMS_16
#undef ASSAY_SUMS_32
#undef ASSAY_SUMS_64
#undef ASSAY_SUMS_128
#undef ASSAY_SUMS_192
#undef ASSAY_SUMS_256
#undef ASSAY_REGISTERS_8
#undef ASSAY_REGISTERS_16
#undef ASSAY_REGISTERS_32
#undef ASSAY_REGISTERS_64
#undef ASSAY_REGISTERS_128
#undef ASSAY_REGISTERS_192
#undef ASSAY_REGISTERS_256
