#include <cmath>
#include <functional>

#include "emulator/float_formats.h"
#include "run_ptx.h"

namespace assay::emulator {
namespace {

using U = std::uint32_t;
using S = std::int32_t;
using U64 = std::uint64_t;
using S64 = std::int64_t;

const std::vector<U> kWords{
    0,          1,          2,          3,          31,         32,         33,         0x7f,
    0x80,       0xff,       0x100,      0x7fff,     0x8000,     0xffff,     0x10000,    0x12345678,
    0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0xdeadbeef, 0x00ff00ff,
    7,          100,        1000003,    0x55555555, 0xaaaaaaaa, 0xf0f0f0f0, 5,          17};

/// Each word with each other as %r1 and %r2, and a third as %r3; the result is %r0.
void check_words(const std::string& instruction, const std::function<U(U, U, U)>& expected) {
  PtxRun run;
  const std::size_t n = kWords.size();
  std::vector<U> a, b, c;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      a.push_back(kWords[i]);
      b.push_back(kWords[j]);
      c.push_back(kWords[(i * 7 + j * 3) % n]);
    }
  }
  run.add(a);
  run.add(b);
  run.add(c);
  run.add(std::vector<U>(a.size()));
  run.shape.grid = {static_cast<U>(n), 1, 1};
  run.shape.block = {static_cast<U>(n), 1, 1};
  run.run_body(R"(mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mov.u32 %r12, %tid.x;
mad.lo.s32 %r13, %r10, %r11, %r12; mul.wide.u32 %rd10, %r13, 4;
add.s64 %rd0, %rd0, %rd10; add.s64 %rd1, %rd1, %rd10; add.s64 %rd2, %rd2, %rd10;
add.s64 %rd3, %rd3, %rd10;
ld.global.u32 %r1, [%rd0]; ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd2];
mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3;
mov.b64 %rd5, {%r1, %r2}; mov.b64 %rd6, {%r3, %r1};
cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2;
)" + instruction +
               "\nst.global.u32 [%rd3], %r0;");
  ASSERT_TRUE(run.outcome.ok) << instruction << ": " << run.findings();
  const std::vector<U> got = run.get<U>(3);
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(got[i], expected(a[i], b[i], c[i]))
        << instruction << " of " << std::hex << a[i] << " " << b[i] << " " << c[i];
  }
}

float as_float(U bits) { return std::bit_cast<float>(bits); }
U as_bits(float value) { return value != value ? 0x7fffffff : std::bit_cast<U>(value); }
U64 wide(U low, U high) { return U64{high} << 32 | low; }

TEST(Arithmetic, Integers) {
  check_words("add.s32 %r0, %r1, %r2;", [](U a, U b, U) { return a + b; });
  check_words("sub.s32 %r0, %r1, %r2;", [](U a, U b, U) { return a - b; });
  check_words("mul.lo.s32 %r0, %r1, %r2;", [](U a, U b, U) { return a * b; });
  check_words("mul.hi.s32 %r0, %r1, %r2;",
              [](U a, U b, U) { return static_cast<U>(S64{S(a)} * S64{S(b)} >> 32); });
  check_words("mul.hi.u32 %r0, %r1, %r2;",
              [](U a, U b, U) { return static_cast<U>(U64{a} * b >> 32); });
  check_words("mad.lo.s32 %r0, %r1, %r2, %r3;", [](U a, U b, U c) { return a * b + c; });
  check_words("mad.hi.u32 %r0, %r1, %r2, %r3;",
              [](U a, U b, U c) { return static_cast<U>(U64{a} * b >> 32) + c; });
  check_words("mul.wide.s32 %rd7, %r1, %r2; shr.u64 %rd7, %rd7, 16; cvt.u32.u64 %r0, %rd7;",
              [](U a, U b, U) { return static_cast<U>(U64(S64{S(a)} * S(b)) >> 16); });
  check_words(
      "mad.wide.u32 %rd7, %r1, %r2, %rd5; xor.b64 %rd7, %rd7, %rd5; mov.b64 {_, %r0}, %rd7;",
      [](U a, U b, U) { return static_cast<U>(((U64{a} * b + wide(a, b)) ^ wide(a, b)) >> 32); });
  check_words("div.u32 %r0, %r1, %r2;", [](U a, U b, U) { return b == 0 ? ~0u : a / b; });
  check_words("div.s32 %r0, %r1, %r2;",
              [](U a, U b, U) { return b == 0 ? ~0u : static_cast<U>(S64{S(a)} / S(b)); });
  check_words("rem.s32 %r0, %r1, %r2;",
              [](U a, U b, U) { return b == 0 ? a : static_cast<U>(S64{S(a)} % S(b)); });
  check_words("min.s32 %r0, %r1, %r2;",
              [](U a, U b, U) { return static_cast<U>(std::min(S(a), S(b))); });
  check_words("max.u32 %r0, %r1, %r2;", [](U a, U b, U) { return std::max(a, b); });
  check_words("abs.s32 %r0, %r1;", [](U a, U, U) { return S(a) < 0 ? 0 - a : a; });
  check_words("add.sat.s32 %r0, %r1, %r2;", [](U a, U b, U) {
    return static_cast<U>(std::clamp<S64>(S64{S(a)} + S(b), INT32_MIN, INT32_MAX));
  });
  check_words("sad.u32 %r0, %r1, %r2, %r3;",
              [](U a, U b, U c) { return c + (a > b ? a - b : b - a); });
  check_words("add.s16 %h0, %h1, %h2; cvt.s32.s16 %r0, %h0;",
              [](U a, U b, U) { return static_cast<U>(S{static_cast<std::int16_t>(a + b)}); });
  check_words("mul.wide.u16 %r0, %h1, %h2;",
              [](U a, U b, U) { return (a & 0xffff) * (b & 0xffff); });
  check_words("mul24.lo.s32 %r0, %r1, %r2;", [](U a, U b, U) {
    return static_cast<U>((S64{S(a << 8)} >> 8) * (S64{S(b << 8)} >> 8));
  });
  check_words("dp4a.s32.u32 %r0, %r1, %r2, %r3;", [](U a, U b, U c) {
    for (int i = 0; i < 4; ++i) {
      c += U(S{static_cast<std::int8_t>(a >> 8 * i)} * S{static_cast<std::uint8_t>(b >> 8 * i)});
    }
    return c;
  });
  check_words("add.cc.u32 %r4, %r1, %r2; addc.u32 %r0, %r3, 0;",
              [](U a, U b, U c) { return c + (a + b < a ? 1 : 0); });
  check_words("sub.cc.u32 %r4, %r1, %r2; subc.u32 %r0, %r3, 5;",
              [](U a, U b, U c) { return c - 5 - (a < b ? 1 : 0); });
  check_words("mul.hi.u64 %rd7, %rd5, %rd6; cvt.u32.u64 %r0, %rd7;", [](U a, U b, U c) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<U>(Wide{wide(a, b)} * wide(c, a) >> 64);
  });
}

TEST(Arithmetic, Bits) {
  check_words("and.b32 %r0, %r1, %r2;", [](U a, U b, U) { return a & b; });
  check_words("or.b32 %r0, %r1, 0xff;", [](U a, U, U) { return a | 0xff; });
  check_words("xor.b64 %rd7, %rd5, %rd6; cvt.u32.u64 %r0, %rd7;",
              [](U a, U, U c) { return a ^ c; });
  check_words("not.b32 %r0, %r1;", [](U a, U, U) { return ~a; });
  check_words("cnot.b32 %r0, %r1;", [](U a, U, U) { return U{a == 0}; });
  check_words("mov.u32 %r4, WARP_SZ; add.u32 %r0, %r4, WARP_SZ;", [](U, U, U) { return 64u; });
  check_words("shl.b32 %r0, %r1, %r2;", [](U a, U b, U) { return b > 31 ? 0 : a << b; });
  check_words("shr.u32 %r0, %r1, %r2;", [](U a, U b, U) { return b > 31 ? 0 : a >> b; });
  check_words("shr.s32 %r0, %r1, %r2;",
              [](U a, U b, U) { return static_cast<U>(S(a) >> std::min(b, 31u)); });
  check_words("popc.b32 %r0, %r1;", [](U a, U, U) { return static_cast<U>(std::popcount(a)); });
  check_words("clz.b64 %r0, %rd5;",
              [](U a, U b, U) { return static_cast<U>(std::countl_zero(wide(a, b))); });
  check_words("bfind.s32 %r0, %r1;", [](U a, U, U) {
    const U bits = S(a) < 0 ? ~a : a;
    return bits == 0 ? ~0u : 31 - static_cast<U>(std::countl_zero(bits));
  });
  check_words("bfind.shiftamt.u32 %r0, %r1;",
              [](U a, U, U) { return a == 0 ? ~0u : static_cast<U>(std::countl_zero(a)); });
  check_words("bfe.u32 %r0, %r1, 5, 9;", [](U a, U, U) { return a >> 5 & 511; });
  check_words("bfe.s32 %r0, %r1, 5, 9;",
              [](U a, U, U) { return static_cast<U>(S(a << 18) >> 23); });
  check_words("bfe.s32 %r0, %r1, 28, 9;", [](U a, U, U) { return static_cast<U>(S(a) >> 28); });
  check_words("bfi.b32 %r0, %r1, %r2, 4, 8;",
              [](U a, U b, U) { return (b & ~0xff0u) | (a << 4 & 0xff0); });
  check_words("shf.l.wrap.b32 %r0, %r1, %r2, %r3;",
              [](U a, U b, U c) { return static_cast<U>(wide(a, b) << (c & 31) >> 32); });
  check_words("shf.r.clamp.b32 %r0, %r1, %r2, %r3;",
              [](U a, U b, U c) { return static_cast<U>(wide(a, b) >> std::min(c, 32u)); });
  check_words("lop3.b32 %r0, %r1, %r2, %r3, 0x96;", [](U a, U b, U c) { return a ^ b ^ c; });
  check_words("lop3.b32 %r0, %r1, %r2, %r3, 0xea;", [](U a, U b, U c) { return (a & b) | c; });
  check_words("prmt.b32 %r0, %r1, %r2, 0x0b76;", [](U a, U b, U) {
    const U sign = (a >> 31) != 0 ? 0xff : 0;
    return (b >> 16 & 0xff) | (b >> 24 & 0xff) << 8 | sign << 16 | (a & 0xff) << 24;
  });
  check_words("brev.b32 %r0, %r1;", [](U a, U, U) {
    U result = 0;
    for (int i = 0; i < 32; ++i) result = result << 1 | (a >> i & 1);
    return result;
  });
}

TEST(Arithmetic, Conversions) {
  check_words("cvt.s32.s8 %r0, %r1;",
              [](U a, U, U) { return static_cast<U>(S{static_cast<std::int8_t>(a)}); });
  check_words("cvt.u32.u16 %r0, %h1;", [](U a, U, U) { return a & 0xffff; });
  check_words("cvt.sat.u8.s32 %r0, %r1;",
              [](U a, U, U) { return static_cast<U>(std::clamp(S(a), 0, 255)); });
  check_words(
      "cvt.f64.f32 %fd1, %f1; cvt.f64.f32 %fd2, %f2; add.f64 %fd0, %fd1, %fd2; "
      "cvt.rn.f32.f64 %f0, %fd0; mov.b32 %r0, %f0;",
      [](U a, U b, U) { return as_bits(static_cast<float>(double{as_float(a)} + as_float(b))); });
}

TEST(Arithmetic, ComparisonsAndSelections) {
  check_words("setp.lt.s32 %p1, %r1, %r2; selp.b32 %r0, %r1, %r2, %p1;",
              [](U a, U b, U) { return S(a) < S(b) ? a : b; });
  const auto flushed = [](U bits) {
    return std::abs(as_float(bits)) < 0x1p-126f ? 0.0f : as_float(bits);
  };
  check_words("setp.lt.ftz.f32 %p1, %f1, %f2; selp.u32 %r0, 1, 0, %p1;",
              [&](U a, U b, U) { return U{flushed(a) < flushed(b)}; });
  check_words("set.eq.ftz.u32.f32 %r0, %f1, %f2;",
              [&](U a, U b, U) { return flushed(a) == flushed(b) ? ~0u : 0; });
  const auto of_pairs = [](U a, U b, PtxType type, U yes) {
    const auto half = [&](int i) {
      return decode(type, a >> i & 0xffff) <= decode(type, b >> i & 0xffff) ? yes << i : 0;
    };
    return half(0) | half(16);
  };
  check_words("set.le.f16x2.f16x2 %r0, %r1, %r2;",
              [&](U a, U b, U) { return of_pairs(a, b, PtxType::f16, 0x3c00); });
  check_words("set.le.bf16x2.bf16x2 %r0, %r1, %r2;",
              [&](U a, U b, U) { return of_pairs(a, b, PtxType::bf16, 0x3f80); });
  check_words("set.le.u32.f16x2 %r0, %r1, %r2;",
              [&](U a, U b, U) { return of_pairs(a, b, PtxType::f16, 0xffff); });
  check_words("{.reg.b16 half; set.nan.f16.f16 half, %h1, %h2; cvt.u32.u16 %r0, half;}",
              [](U a, U b, U) {
                const bool is_nan = (a & 0x7fff) > 0x7c00 || (b & 0x7fff) > 0x7c00;
                return is_nan ? 0x3c00u : 0;
              });
  check_words("setp.geu.f32 %p1, %f1, %f2; selp.u32 %r0, 1, 0, %p1;",
              [](U a, U b, U) { return U{!(as_float(a) < as_float(b))}; });
  check_words(
      "setp.eq.u32 %p3, %r3, 5; setp.ne.and.u32 %p1|%p2, %r1, %r2, !%p3;"
      "selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p2; or.b32 %r0, %r4, %r5;",
      [](U a, U b, U c) { return c == 5   ? 0u
                                 : a != b ? 1u
                                          : 2u; });
  check_words(
      "setp.gt.u32 %p1, %r1, 7; setp.gt.u32 %p2, %r2, 7; xor.pred %p3, %p1, %p2; not.pred %p3, %p3;"
      "mov.u32 %r0, 1; @%p3 mov.u32 %r0, 2; @!%p1 add.s32 %r0, %r0, 16;",
      [](U a, U b, U) { return ((a > 7) == (b > 7) ? 2u : 1u) + (a > 7 ? 0u : 16u); });
  // NVRTC negates by a constant. Kernels that do were not run.
  check_words(
      "setp.gt.u32 %p1, %r1, 7; xor.pred %p1, %p1, -1; or.pred %p1, %p1, 0; selp.u32 %r0, 1, 2, "
      "%p1;",
      [](U a, U, U) { return a > 7 ? 2u : 1u; });
}

// Operations of floats, and their conversions, are tested with those of an H200
// (h200_operations_test.cpp), in which no tf32 is a tie.
TEST(FloatFormats, RoundsTf32InItsRegister) {
  EXPECT_EQ(encode(PtxType::tf32, 1.0), 0x3F800000u);
  EXPECT_EQ(encode(PtxType::tf32, 1 + 0x1p-11, {.rounding = Rounding::nearest_away}), 0x3F802000u);
  EXPECT_EQ(encode(PtxType::tf32, 1 + 0x1p-11), 0x3F800000u);
  EXPECT_EQ(decode(PtxType::tf32, 0x3F801FFF), 1.0);
}

}  // namespace
}  // namespace assay::emulator
