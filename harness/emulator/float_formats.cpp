#include "emulator/float_formats.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay::emulator {

namespace {

struct Shape {
  int fraction_bits;
  int least_exponent;  // of normal numbers
  std::uint64_t sign;
  std::uint64_t largest;   // the bits of the largest number
  std::uint64_t infinity;  // of formats without one, the largest number
  std::uint64_t nan;
};

constexpr Shape shape_of(FloatFormat format) {
  switch (format) {
    case FloatFormat::f64:
      return {52, -1022, 1ull << 63, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF8000000000000};
    case FloatFormat::f32:
      return {23, -126, 1ull << 31, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF};
    case FloatFormat::tf32:  // here without the 13 bits below
      return {10, -126, 1ull << 18, 0x3FBFF, 0x3FC00, 0x3FFFF};
    case FloatFormat::f16:
      return {10, -14, 1ull << 15, 0x7BFF, 0x7C00, 0x7FFF};
    case FloatFormat::bf16:
      return {7, -126, 1ull << 15, 0x7F7F, 0x7F80, 0x7FFF};
    case FloatFormat::e4m3:
      return {3, -6, 1ull << 7, 0x7E, 0x7E, 0x7F};
    case FloatFormat::e5m2:
      return {2, -14, 1ull << 7, 0x7B, 0x7B, 0x7F};
    case FloatFormat::ue8m0:
      break;
  }
  return {0, -126, 0, 0xFE, 0xFE, 0xFF};
}

/// Whether what is cut off, whose highest bit is `half` and the rest not 0 if `sticky`, rounds the
/// size up.
bool rounds_up(Rounding rounding, bool negative, bool odd, bool half, bool sticky) {
  switch (rounding) {
    case Rounding::nearest_even:
      return half && (sticky || odd);
    case Rounding::nearest_away:
      return half;
    case Rounding::to_zero:
      return false;
    case Rounding::down:
      return negative && (half || sticky);
    case Rounding::up:
      break;
  }
  return !negative && (half || sticky);
}

/// `size` shifted right, or left if `shift` is negative, and rounded.
std::uint64_t shifted(std::uint64_t size, int shift, bool negative, Rounding rounding) {
  if (shift <= 0) return size << -shift;
  if (shift > 64) return rounds_up(rounding, negative, false, false, size != 0) ? 1 : 0;
  const std::uint64_t whole = shift == 64 ? 0 : size >> shift;
  const std::uint64_t half = 1ull << (shift - 1);
  return whole + (rounds_up(rounding, negative, (whole & 1) != 0, (size & half) != 0,
                            (size & (half - 1)) != 0)
                      ? 1
                      : 0);
}

/// The bits of size * 2^exponent.
std::uint64_t pack(const Shape& shape, bool negative, std::uint64_t size, int exponent,
                   const Conversion& how) {
  const std::uint64_t sign = negative ? shape.sign : 0;
  if (size == 0) return sign;
  const int log = std::max(exponent + 63 - std::countl_zero(size), shape.least_exponent);
  const std::uint64_t significand =
      shifted(size, log - shape.fraction_bits - exponent, negative, how.rounding);
  const std::uint64_t bits =
      (static_cast<std::uint64_t>(log - shape.least_exponent) << shape.fraction_bits) + significand;
  if (bits <= shape.largest) return sign | bits;
  const bool to_infinity = how.rounding == Rounding::nearest_even ||
                           how.rounding == Rounding::nearest_away ||
                           how.rounding == (negative ? Rounding::down : Rounding::up);
  return sign | (to_infinity && !how.saturate_finite ? shape.infinity : shape.largest);
}

struct Parts {
  bool negative;
  std::uint64_t size;
  int exponent;
};

Parts parts_of(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & ((1ull << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF);
  return {bits >> 63 != 0, exponent == 0 ? fraction : fraction | 1ull << 52,
          std::max(exponent, 1) - 1075};
}

std::uint64_t in_register(FloatFormat format, std::uint64_t bits) {
  return format == FloatFormat::tf32 ? bits << 13 : bits;
}

}  // namespace

std::uint64_t encode(FloatFormat format, double value, const Conversion& how) {
  const Shape shape = shape_of(format);
  if (how.flush_subnormals && std::abs(value) < 0x1p-126) value = std::copysign(0.0, value);
  if (how.saturate_to_one) value = value > 0 ? std::min(value, 1.0) : 0.0;
  if (std::isnan(value)) return in_register(format, shape.nan);
  if (how.relu && std::signbit(value)) return 0;
  if (format == FloatFormat::ue8m0 && std::abs(value) <= 0x1p-127) return 0;
  const bool negative = std::signbit(value);
  std::uint64_t bits = 0;
  if (std::isinf(value)) {
    bits = (negative ? shape.sign : 0) | (how.saturate_finite ? shape.largest : shape.infinity);
  } else {
    const Parts parts = parts_of(value);
    bits = pack(shape, negative, parts.size, parts.exponent, how);
  }
  if (how.flush_subnormals && format == FloatFormat::f32 && (bits & 0x7F800000) == 0) {
    bits &= shape.sign;
  }
  return in_register(format, bits);
}

double decode(FloatFormat format, std::uint64_t bits) {
  const Shape shape = shape_of(format);
  if (format == FloatFormat::f64) return std::bit_cast<double>(bits);
  if (format == FloatFormat::f32) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
  if (format == FloatFormat::tf32) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0xFFFFE000));
  }
  if (format == FloatFormat::ue8m0) {
    return (bits & 0xFF) == 0xFF ? NAN : std::ldexp(1.0, static_cast<int>(bits & 0xFF) - 127);
  }
  const std::uint64_t size = bits & (shape.sign - 1);
  const double sign = (bits & shape.sign) != 0 ? -1.0 : 1.0;
  if (format == FloatFormat::e5m2 && size == 0x7C) return sign * INFINITY;
  if (size > shape.infinity) return std::copysign(NAN, sign);
  if (size == shape.infinity && shape.infinity != shape.largest) return sign * INFINITY;
  const std::uint64_t hidden = 1ull << shape.fraction_bits;
  const int exponent = static_cast<int>(size >> shape.fraction_bits);
  const std::uint64_t significand = (size & (hidden - 1)) | (exponent == 0 ? 0 : hidden);
  const int power = std::max(exponent, 1) - 1 + shape.least_exponent - shape.fraction_bits;
  return sign * static_cast<double>(significand) *
         std::bit_cast<double>(static_cast<std::uint64_t>(1023 + power) << 52);
}

double round_to_integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even:
      return std::nearbyint(value);  // this program never leaves round-to-nearest
    case Rounding::nearest_away:
      return std::round(value);
    case Rounding::to_zero:
      return std::trunc(value);
    case Rounding::down:
      return std::floor(value);
    case Rounding::up:
      break;
  }
  return std::ceil(value);
}

std::uint64_t encode_integer(double value, Rounding rounding, int bits, bool is_signed) {
  if (std::isnan(value)) return bits == 64 ? 1ull << 63 : 0;
  const double whole = round_to_integral(value, rounding);
  const double range = std::ldexp(1.0, is_signed ? bits - 1 : bits);  // the first that is too large
  const std::uint64_t most = ~0ull >> (64 - bits + (is_signed ? 1 : 0));
  if (whole >= range) return most;
  if (!is_signed) return whole <= 0 ? 0 : static_cast<std::uint64_t>(whole);
  if (whole < -range) return ~most;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
}

std::uint64_t encode_from_integer(FloatFormat format, std::uint64_t value, bool is_signed,
                                  const Conversion& how) {
  const bool negative = is_signed && static_cast<std::int64_t>(value) < 0;
  const std::uint64_t size = negative ? 0 - value : value;
  return in_register(format, pack(shape_of(format), negative, size, 0, how));
}

}  // namespace assay::emulator
