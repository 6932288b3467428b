#pragma once

// The tensor cores of a warpgroup, four warps at once (sm_90a):
//   sums[64, N] (+)= A[64, 16] @ B[N, 16]^T, both operands in shared memory, fp32 sums.
// It runs on its own: between wgmma_fence and wgmma_wait nobody may touch the sums, and what the
// operands' descriptors point at must stay. Thread t of a warpgroup holds, of every 8 columns, row
// t / 32 * 16 + t % 32 / 4 and the one 8 further down, columns t % 4 * 2 and the one after.

#include "common/types.cuh"

/// Orders this warpgroup's accesses to sums and operands before the wgmma that follow.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Closes the group of wgmma issued since the last one.
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most kPending groups are unfinished.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// N columns: 8, 168, 184, or a multiple of 16 up to 256; the hardware has every multiple of 8.
/// With `accumulate` 0 the sums start from zero.
template <int kColumns>
struct Wgmma {
  static_assert(kColumns == 0, "wgmma is here for 8, 168, 184 and multiples of 16 up to 256");
};

// Operand lists, one on top of the other: REGISTERS_n names the sums of n columns, SUMS_n binds
// them. The instruction takes all of them as separate operands.
// clang-format off
#define ASSAY_REGISTERS_8 "%0,%1,%2,%3"
#define ASSAY_REGISTERS_16 ASSAY_REGISTERS_8 ",%4,%5,%6,%7"
#define ASSAY_REGISTERS_32 ASSAY_REGISTERS_16 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define ASSAY_REGISTERS_48 ASSAY_REGISTERS_32 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define ASSAY_REGISTERS_64 ASSAY_REGISTERS_48 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define ASSAY_REGISTERS_80 ASSAY_REGISTERS_64 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define ASSAY_REGISTERS_96 ASSAY_REGISTERS_80 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define ASSAY_REGISTERS_112 ASSAY_REGISTERS_96 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define ASSAY_REGISTERS_128 ASSAY_REGISTERS_112 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define ASSAY_REGISTERS_144 ASSAY_REGISTERS_128 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define ASSAY_REGISTERS_160 ASSAY_REGISTERS_144 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define ASSAY_REGISTERS_168 ASSAY_REGISTERS_160 ",%80,%81,%82,%83"
#define ASSAY_REGISTERS_176 ASSAY_REGISTERS_160 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define ASSAY_REGISTERS_184 ASSAY_REGISTERS_176 ",%88,%89,%90,%91"
#define ASSAY_REGISTERS_192 ASSAY_REGISTERS_176 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define ASSAY_REGISTERS_208 ASSAY_REGISTERS_192 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define ASSAY_REGISTERS_224 ASSAY_REGISTERS_208 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define ASSAY_REGISTERS_240 ASSAY_REGISTERS_224 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define ASSAY_REGISTERS_256 ASSAY_REGISTERS_240 ",%120,%121,%122,%123,%124,%125,%126,%127"
#define ASSAY_SUMS_8(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define ASSAY_SUMS_16(d) ASSAY_SUMS_8(d), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define ASSAY_SUMS_32(d) ASSAY_SUMS_16(d), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), \
  "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define ASSAY_SUMS_48(d) ASSAY_SUMS_32(d), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), \
  "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define ASSAY_SUMS_64(d) ASSAY_SUMS_48(d), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), \
  "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define ASSAY_SUMS_80(d) ASSAY_SUMS_64(d), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), \
  "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define ASSAY_SUMS_96(d) ASSAY_SUMS_80(d), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), \
  "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define ASSAY_SUMS_112(d) ASSAY_SUMS_96(d), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), \
  "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define ASSAY_SUMS_128(d) ASSAY_SUMS_112(d), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), \
  "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define ASSAY_SUMS_144(d) ASSAY_SUMS_128(d), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), \
  "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define ASSAY_SUMS_160(d) ASSAY_SUMS_144(d), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), \
  "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define ASSAY_SUMS_168(d) ASSAY_SUMS_160(d), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83])
#define ASSAY_SUMS_176(d) ASSAY_SUMS_160(d), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), \
  "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define ASSAY_SUMS_184(d) ASSAY_SUMS_176(d), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91])
#define ASSAY_SUMS_192(d) ASSAY_SUMS_176(d), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), \
  "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define ASSAY_SUMS_208(d) ASSAY_SUMS_192(d), "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), \
  "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define ASSAY_SUMS_224(d) ASSAY_SUMS_208(d), "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), \
  "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define ASSAY_SUMS_240(d) ASSAY_SUMS_224(d), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), \
  "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define ASSAY_SUMS_256(d) ASSAY_SUMS_240(d), "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), \
  "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

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
ASSAY_WGMMA(8, 4, 5, 6)
ASSAY_WGMMA(16, 8, 9, 10)
ASSAY_WGMMA(32, 16, 17, 18)
ASSAY_WGMMA(48, 24, 25, 26)
ASSAY_WGMMA(64, 32, 33, 34)
ASSAY_WGMMA(80, 40, 41, 42)
ASSAY_WGMMA(96, 48, 49, 50)
ASSAY_WGMMA(112, 56, 57, 58)
ASSAY_WGMMA(128, 64, 65, 66)
ASSAY_WGMMA(144, 72, 73, 74)
ASSAY_WGMMA(160, 80, 81, 82)
ASSAY_WGMMA(168, 84, 85, 86)
ASSAY_WGMMA(176, 88, 89, 90)
ASSAY_WGMMA(184, 92, 93, 94)
ASSAY_WGMMA(192, 96, 97, 98)
ASSAY_WGMMA(208, 104, 105, 106)
ASSAY_WGMMA(224, 112, 113, 114)
ASSAY_WGMMA(240, 120, 121, 122)
ASSAY_WGMMA(256, 128, 129, 130)
// clang-format on

#undef ASSAY_WGMMA
#undef ASSAY_WGMMA_TYPE
#undef ASSAY_SUMS_8
#undef ASSAY_SUMS_16
#undef ASSAY_SUMS_32
#undef ASSAY_SUMS_48
#undef ASSAY_SUMS_64
#undef ASSAY_SUMS_80
#undef ASSAY_SUMS_96
#undef ASSAY_SUMS_112
#undef ASSAY_SUMS_128
#undef ASSAY_SUMS_144
#undef ASSAY_SUMS_160
#undef ASSAY_SUMS_168
#undef ASSAY_SUMS_176
#undef ASSAY_SUMS_184
#undef ASSAY_SUMS_192
#undef ASSAY_SUMS_208
#undef ASSAY_SUMS_224
#undef ASSAY_SUMS_240
#undef ASSAY_SUMS_256
#undef ASSAY_REGISTERS_8
#undef ASSAY_REGISTERS_16
#undef ASSAY_REGISTERS_32
#undef ASSAY_REGISTERS_48
#undef ASSAY_REGISTERS_64
#undef ASSAY_REGISTERS_80
#undef ASSAY_REGISTERS_96
#undef ASSAY_REGISTERS_112
#undef ASSAY_REGISTERS_128
#undef ASSAY_REGISTERS_144
#undef ASSAY_REGISTERS_160
#undef ASSAY_REGISTERS_168
#undef ASSAY_REGISTERS_176
#undef ASSAY_REGISTERS_184
#undef ASSAY_REGISTERS_192
#undef ASSAY_REGISTERS_208
#undef ASSAY_REGISTERS_224
#undef ASSAY_REGISTERS_240
#undef ASSAY_REGISTERS_256
