#pragma once

// The types of PTX, and conversions between number formats, to the bit, as cvt does them.

#include <cstdint>
#include <string_view>

namespace assay::emulator {

enum class PtxType : std::uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
  e4m3x2,
  e5m2x2,
  e4m3,
  e5m2,
};
/// "bf16x2" to PtxType::bf16x2; none for another word.
PtxType ptx_type(std::string_view part);
int bits_of(PtxType type);
inline int bytes_of(PtxType type) { return bits_of(type) / 8; }
inline bool is_signed(PtxType type) { return type >= PtxType::s8 && type <= PtxType::s64; }
inline bool is_float(PtxType type) { return type >= PtxType::f16; }
/// Two numbers in a register.
bool is_pair(PtxType type);

/// The fields of a float, beside its sign; of a pair those of each.
struct FloatFields {
  int exponent_bits = 0;
  int fraction_bits = 0;
};
FloatFields fields_of(PtxType type);

/// PTX's .rn .rz .rm .rp .rna (ties away from zero), and .rs never.
enum class Rounding { nearest_even, to_zero, down, up, nearest_away };

/// What an instruction does beside its operation.
struct Modifiers {
  Rounding rounding = Rounding::nearest_even;
  bool saturate_finite = false;  // .satfinite: what is too large becomes the largest number
  bool relu = false;             // .relu: what is negative becomes 0
  bool saturate = false;         // .sat: clamped to [0, 1], NaN becomes 0
  // .ftz: subnormal operands and results become zeros of their sign; of cvt those of f32.
  bool flush_subnormals = false;
  // min and max: a NaN gives way to a number, or (.NaN) makes the result NaN; -0 is less than +0.
  bool propagate_nan = false;
  bool xor_sign = false;  // .xorsign.abs

  bool operator==(const Modifiers&) const = default;
};

/// The bits of `value` in `format`, in the low bits of the result. NaN becomes the format's one
/// NaN. e4m3 and e5m2 always saturate, as PTX has it. A pair is taken for one of its numbers.
std::uint64_t encode(PtxType format, double value, const Modifiers& how = {});

/// The number that the low bits are in `format`. tf32 ignores the low 13 of its 32 bits.
double decode(PtxType format, std::uint64_t bits);

/// f32 to f32: .rni .rzi .rmi .rpi of cvt, a number without fraction.
double round_to_integral(double value, Rounding rounding);

/// cvt to an integer of so many bits (8 to 64): rounded, and clamped to its range; NaN becomes 0,
/// but the highest bit of 64-bit integers (as an H200 does). Signed results are sign-extended.
std::uint64_t encode_integer(double value, Rounding rounding, int bits, bool is_signed);

/// cvt from a 64-bit integer to f64, f32, f16 or bf16, rounded once.
std::uint64_t encode_from_integer(PtxType format, std::uint64_t value, bool is_signed,
                                  const Modifiers& how = {});

/// An operation on floats, in double: exact, or so that it can be rounded again.
using FloatFunction = double (*)(double a, double b, double c, const Modifiers& how);
/// Of "add", "fma", "ex2" and so on.
FloatFunction float_function(std::string_view name);
/// The bits of a result, rounded once, of the bits of its operands: f32, f16, bf16, or pairs.
std::uint32_t compute(FloatFunction function, PtxType type, const Modifiers& modifiers,
                      std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0);

}  // namespace assay::emulator
