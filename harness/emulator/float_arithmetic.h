#pragma once

// Arithmetic in one number of a lane, to the bit where PTX says so; plain C serves .rn without
// .ftz and .sat.

#include <cstdint>

#include "emulator/float_formats.h"

namespace assay::emulator {

/// The modifiers of add, sub, mul, fma, div, sqrt and rcp.
struct FloatMode {
  Rounding rounding = Rounding::nearest_even;
  bool flush_subnormals = false;  // .ftz: subnormal operands and results become zeros of their sign
  bool saturate = false;          // .sat: clamped to [0, 1], NaN becomes 0
};

float add_f32(float a, float b, FloatMode mode);
float multiply_f32(float a, float b, FloatMode mode);
float fma_f32(float a, float b, float c, FloatMode mode);
float divide_f32(float a, float b, FloatMode mode);
float sqrt_f32(float a, FloatMode mode);
float reciprocal_f32(float a, FloatMode mode);

/// min and max: a NaN gives way to a number, or (`propagate_nan`, .NaN) makes the result NaN; -0 is
/// less than +0; .xorsign and .abs are `xor_sign`.
struct MinMax {
  bool max = false;
  bool propagate_nan = false;
  bool flush_subnormals = false;
  bool xor_sign = false;
};
float min_max_f32(float a, float b, MinMax what);
double min_max_f64(double a, double b, bool max);

/// Functions that the special function unit approximates. The results here are the exact ones
/// rounded to nearest, which are within every documented error, so they differ from a GPU's in
/// their last bits.
enum class Approximation { ex2, lg2, sin, cos, tanh, rsqrt, rcp, sqrt };
float approximate_f32(Approximation function, float a, bool flush_subnormals);
/// div.approx and div.full, which differ in very large divisors: there .approx gives 0.
float approximate_divide_f32(float a, float b, bool flush_subnormals, bool full);
double approximate_f64(Approximation function, double a);  // rcp and rsqrt .approx.ftz.f64

/// Operations of f16 and bf16, rounded to nearest even once. `c` is fma's.
enum class HalfOperation { add, sub, mul, fma, min, max, neg, abs, ex2, tanh, copy };
struct HalfMode {
  FloatFormat format = FloatFormat::f16;
  bool flush_subnormals = false;
  bool saturate = false;
  bool relu = false;           // fma.relu
  bool propagate_nan = false;  // min, max
  bool xor_sign = false;       // min, max
};
std::uint16_t half(HalfOperation operation, HalfMode mode, std::uint16_t a, std::uint16_t b = 0,
                   std::uint16_t c = 0);
/// Both halves of a word.
std::uint32_t half_pair(HalfOperation operation, HalfMode mode, std::uint32_t a,
                        std::uint32_t b = 0, std::uint32_t c = 0);

}  // namespace assay::emulator
