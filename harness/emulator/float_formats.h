#pragma once

// Conversions between number formats, to the bit, as cvt does them.

#include <cstdint>

namespace assay::emulator {

/// PTX's .rn .rz .rm .rp .rna (ties away from zero), and .rs never.
enum class Rounding { nearest_even, to_zero, down, up, nearest_away };

/// Floating-point formats that are converted to and from. f32 and tf32 take 32 bits of a register.
enum class FloatFormat { f64, f32, tf32, f16, bf16, e4m3, e5m2, ue8m0 };

/// What cvt may do beside rounding.
struct Conversion {
  Rounding rounding = Rounding::nearest_even;
  bool saturate_finite = false;   // .satfinite: what is too large becomes the largest number
  bool relu = false;              // .relu: what is negative becomes 0
  bool saturate_to_one = false;   // .sat: clamped to [0, 1], NaN becomes 0
  bool flush_subnormals = false;  // .ftz, of f32 on both sides
};

/// The bits of `value` in `format`, in the low bits of the result. NaN becomes the format's one
/// NaN. e4m3 and e5m2 always saturate, as PTX has it; ue8m0 takes .rz or .rp.
std::uint64_t encode(FloatFormat format, double value, const Conversion& how = {});

/// The number that the low bits are in `format`. tf32 ignores the low 13 of its 32 bits.
double decode(FloatFormat format, std::uint64_t bits);

/// f32 to f32: .rni .rzi .rmi .rpi of cvt, a number without fraction.
double round_to_integral(double value, Rounding rounding);

/// cvt to an integer of so many bits (8 to 64): rounded, and clamped to its range; NaN becomes 0,
/// but the highest bit of 64-bit integers (as an H200 does). Signed results are sign-extended.
std::uint64_t encode_integer(double value, Rounding rounding, int bits, bool is_signed);

/// cvt from a 64-bit integer to f64, f32, f16 or bf16, rounded once.
std::uint64_t encode_from_integer(FloatFormat format, std::uint64_t value, bool is_signed,
                                  const Conversion& how = {});

}  // namespace assay::emulator
