#include "emulator/float_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay::emulator {

namespace {

float as_float(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

const float kNan = as_float(0x7FFFFFFF);  // the NaN of all arithmetic in f32

float flushed(float value, bool flush) {
  return flush && std::abs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

/// A double that rounds to every shorter format, in every direction, as the exact value does that
/// `nearest` is the double next to and `error` more: if it is not exact, its last bit is 1
/// ("rounding to odd").
double to_odd(double nearest, double error) {
  const auto bits = std::bit_cast<std::uint64_t>(nearest);
  if (error == 0 || std::isnan(error) || std::isinf(nearest) || (bits & 1) != 0) return nearest;
  // Away from zero if the rest has the sign, else one step towards zero.
  return std::bit_cast<double>(std::signbit(nearest) == std::signbit(error) ? bits + 1 : bits - 1);
}

double sum_to_odd(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return to_odd(sum, (a - (sum - part)) + (b - part));
}

/// The sum of a * b and c, where the product is exact in double.
double fma_to_odd(double a, double b, double c) { return sum_to_odd(a * b, c); }

/// Rounds what is exact, or rounded to odd, to f32.
float rounded(double value, FloatMode mode) {
  if (std::isnan(value)) return mode.saturate ? 0.0f : kNan;
  const Conversion how{mode.rounding, false, false, mode.saturate, false};
  const bool plain = mode.rounding == Rounding::nearest_even && !mode.saturate;
  return flushed(plain ? static_cast<float>(value) : as_float(encode(FloatFormat::f32, value, how)),
                 mode.flush_subnormals);
}

/// A sum that is 0 is -0 when rounding is down, unless both terms are +0.
double signed_zero(double sum, double a, double b, Rounding rounding) {
  const bool down = rounding == Rounding::down && (std::signbit(a) || std::signbit(b));
  return sum == 0 && down ? -0.0 : sum;
}

}  // namespace

float add_f32(float a, float b, FloatMode mode) {
  a = flushed(a, mode.flush_subnormals);
  b = flushed(b, mode.flush_subnormals);
  return rounded(signed_zero(sum_to_odd(a, b), a, b, mode.rounding), mode);
}

float multiply_f32(float a, float b, FloatMode mode) {
  a = flushed(a, mode.flush_subnormals);
  b = flushed(b, mode.flush_subnormals);
  return rounded(static_cast<double>(a) * b, mode);
}

float fma_f32(float a, float b, float c, FloatMode mode) {
  a = flushed(a, mode.flush_subnormals);
  b = flushed(b, mode.flush_subnormals);
  c = flushed(c, mode.flush_subnormals);
  const double product = static_cast<double>(a) * b;
  return rounded(signed_zero(sum_to_odd(product, c), product, c, mode.rounding), mode);
}

float divide_f32(float a, float b, FloatMode mode) {
  a = flushed(a, mode.flush_subnormals);
  b = flushed(b, mode.flush_subnormals);
  const double quotient = static_cast<double>(a) / b;
  if (std::isinf(quotient) || std::isnan(quotient) || quotient == 0) return rounded(quotient, mode);
  const double rest = std::fma(-quotient, static_cast<double>(b), static_cast<double>(a));
  return rounded(to_odd(quotient, b < 0 ? -rest : rest), mode);
}

float sqrt_f32(float a, FloatMode mode) {
  a = flushed(a, mode.flush_subnormals);
  const double root = std::sqrt(static_cast<double>(a));
  if (!(root > 0) || std::isinf(root)) return rounded(root, mode);
  return rounded(to_odd(root, std::fma(-root, root, static_cast<double>(a))), mode);
}

float reciprocal_f32(float a, FloatMode mode) { return divide_f32(1.0f, a, mode); }

namespace {

/// min or max of numbers of any format.
double min_max(double a, double b, bool max) {
  if (a == b) return std::signbit(a) == max ? b : a;  // -0 is less than +0
  return (a < b) == max ? b : a;
}

template <typename Number>
Number min_max_of(Number a, Number b, const MinMax& what, Number nan) {
  const bool negative = std::signbit(a) != std::signbit(b);
  if (what.xor_sign) a = std::abs(a), b = std::abs(b);
  Number result = nan;
  if (std::isnan(a) || std::isnan(b)) {
    if (!what.propagate_nan && std::isnan(a) != std::isnan(b)) result = std::isnan(a) ? b : a;
    if (std::isnan(result)) return nan;
  } else {
    result = static_cast<Number>(min_max(a, b, what.max));
  }
  return what.xor_sign ? std::copysign(result, negative ? Number{-1} : Number{1}) : result;
}

}  // namespace

float min_max_f32(float a, float b, MinMax what) {
  return min_max_of(flushed(a, what.flush_subnormals), flushed(b, what.flush_subnormals), what,
                    kNan);
}

double min_max_f64(double a, double b, bool max) {
  return min_max_of(a, b, MinMax{max, false, false, false},
                    decode(FloatFormat::f64, 0xFFF8ull << 48));
}

namespace {

double approximate(Approximation function, double a) {
  switch (function) {
    case Approximation::ex2:
      return std::exp2(a);
    case Approximation::lg2:
      return std::log2(a);
    case Approximation::sin:
      return std::sin(a);
    case Approximation::cos:
      return std::cos(a);
    case Approximation::tanh:
      return std::tanh(a);
    case Approximation::rsqrt:
      return 1.0 / std::sqrt(a);
    case Approximation::rcp:
      return 1.0 / a;
    case Approximation::sqrt:
      break;
  }
  return std::sqrt(a);
}

}  // namespace

float approximate_f32(Approximation function, float a, bool flush_subnormals) {
  return rounded(approximate(function, flushed(a, flush_subnormals)),
                 FloatMode{Rounding::nearest_even, flush_subnormals, false});
}

float approximate_divide_f32(float a, float b, bool flush_subnormals, bool full) {
  const FloatMode mode{Rounding::nearest_even, flush_subnormals, false};
  if (!full && std::isfinite(b) && std::abs(b) > 0x1p126f) {
    return std::isinf(a) || std::isnan(a) ? kNan : std::copysign(0.0f, a * b);
  }
  return divide_f32(a, b, mode);
}

double approximate_f64(Approximation function, double a) {
  // The results have 20 bits of fraction, and no subnormals.
  if (std::abs(a) < 0x1p-1022) a = std::copysign(0.0, a);
  const double result = approximate(function, a);
  if (std::isnan(result)) return result;
  if (std::abs(result) < 0x1p-1022) return std::copysign(0.0, result);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) & 0xFFFFFFFF00000000u);
}

std::uint16_t half(HalfOperation operation, HalfMode mode, std::uint16_t a, std::uint16_t b,
                   std::uint16_t c) {
  const bool is_f16 = mode.format == FloatFormat::f16;
  const auto read = [&](std::uint16_t bits) {
    const double value = decode(mode.format, bits);
    const double least = is_f16 ? 0x1p-14 : 0x1p-126;
    return mode.flush_subnormals && std::abs(value) < least ? std::copysign(0.0, value) : value;
  };
  const double x = read(a), y = read(b), z = read(c);
  double result = 0;
  switch (operation) {
    case HalfOperation::neg:
      result = -x;
      break;
    case HalfOperation::abs:
      result = std::abs(x);
      break;
    case HalfOperation::add:
      result = sum_to_odd(x, y);
      break;
    case HalfOperation::sub:
      result = sum_to_odd(x, -y);
      break;
    case HalfOperation::mul:
      result = x * y;
      break;
    case HalfOperation::fma:
      result = fma_to_odd(x, y, z);
      break;
    case HalfOperation::min:
    case HalfOperation::max: {
      const bool max = operation == HalfOperation::max;
      result = min_max_of(x, y, MinMax{max, mode.propagate_nan, false, mode.xor_sign}, double{NAN});
      break;
    }
    case HalfOperation::ex2:
      result = std::exp2(x);
      break;
    case HalfOperation::tanh:
      result = std::tanh(x);
      break;
    case HalfOperation::copy:
      result = x;
      break;
  }
  Conversion how;
  how.relu = mode.relu;
  how.saturate_to_one = mode.saturate;
  const std::uint64_t bits = encode(mode.format, result, how);
  const bool tiny = mode.flush_subnormals && (bits & (is_f16 ? 0x7C00 : 0x7F80)) == 0;
  return static_cast<std::uint16_t>(tiny ? bits & 0x8000 : bits);
}

std::uint32_t half_pair(HalfOperation operation, HalfMode mode, std::uint32_t a, std::uint32_t b,
                        std::uint32_t c) {
  const auto part = [](std::uint32_t word, int shift) {
    return static_cast<std::uint16_t>(word >> shift);
  };
  const std::uint32_t low = half(operation, mode, part(a, 0), part(b, 0), part(c, 0));
  const std::uint32_t high = half(operation, mode, part(a, 16), part(b, 16), part(c, 16));
  return high << 16 | low;
}

}  // namespace assay::emulator
