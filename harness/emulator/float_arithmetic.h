#pragma once

// Arithmetic in one number of a lane, to the bit where PTX says so; plain C serves f64, and f32
// that is rounded to nearest without modifiers.

#include <cstdint>

#include "emulator/float_formats.h"

namespace assay::emulator {

/// From ex2 on functions that the special function unit approximates. The results here are the
/// exact ones rounded to nearest, which are within every documented error, so they differ from a
/// GPU's in their last bits.
enum class FloatOperation : std::uint32_t {
  add,
  sub,
  mul,
  div,
  fma,
  sqrt,
  rcp,
  neg,
  abs,
  min,
  max,
  copysign,
  ex2,
  lg2,
  sin,
  cos,
  tanh,
  rsqrt,
  div_approx,
};

struct FloatMode {
  PtxType type = PtxType::f32;  // f32, f16, bf16, or a pair
  Rounding rounding = Rounding::nearest_even;
  bool flush_subnormals = false;  // .ftz: subnormal operands and results become zeros of their sign
  bool saturate = false;          // .sat: clamped to [0, 1], NaN becomes 0
  bool relu = false;              // what is negative becomes 0
  // min and max: a NaN gives way to a number, or (.NaN) makes the result NaN; -0 is less than +0.
  bool propagate_nan = false;
  bool xor_sign = false;  // .xorsign.abs
};

/// The bits of a result, rounded once, of the bits of its operands.
std::uint32_t compute(FloatOperation operation, const FloatMode& mode, std::uint32_t a,
                      std::uint32_t b = 0, std::uint32_t c = 0);

/// rcp and rsqrt .approx.ftz.f64.
double approximate_f64(FloatOperation operation, double a);

}  // namespace assay::emulator
