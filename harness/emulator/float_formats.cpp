#include "emulator/float_formats.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay::emulator {
namespace {

struct TypeFacts {
  std::string_view name;
  int bits, exponent_bits, fraction_bits;
};
/// By PtxType. tf32 is here without the 13 bits below its fraction.
constexpr TypeFacts kTypes[] = {
    {"", 0, 0, 0},        {"pred", 1, 0, 0},   {"b8", 8, 0, 0},      {"b16", 16, 0, 0},
    {"b32", 32, 0, 0},    {"b64", 64, 0, 0},   {"b128", 128, 0, 0},  {"u8", 8, 0, 0},
    {"u16", 16, 0, 0},    {"u32", 32, 0, 0},   {"u64", 64, 0, 0},    {"s8", 8, 0, 0},
    {"s16", 16, 0, 0},    {"s32", 32, 0, 0},   {"s64", 64, 0, 0},    {"f16", 16, 5, 10},
    {"f16x2", 32, 5, 10}, {"bf16", 16, 8, 7},  {"bf16x2", 32, 8, 7}, {"tf32", 32, 8, 10},
    {"f32", 32, 8, 23},   {"f64", 64, 11, 52}, {"e4m3x2", 16, 4, 3}, {"e5m2x2", 16, 5, 2},
    {"e4m3", 8, 4, 3},    {"e5m2", 8, 5, 2}};

struct Shape {
  int fraction_bits;
  int least_exponent;  // of normal numbers
  std::uint64_t sign;
  std::uint64_t largest;   // the bits of the largest number
  std::uint64_t infinity;  // of formats without one, the largest number
  std::uint64_t nan;
};

Shape shape_of(PtxType format) {
  const auto [exponent, fraction] = fields_of(format);
  const std::uint64_t sign = 1ull << (exponent + fraction), infinity = sign - (1ull << fraction);
  Shape shape{fraction, 2 - (1 << (exponent - 1)), sign, infinity - 1, infinity, sign - 1};
  if (format == PtxType::f64) shape.nan = 0xFFF8000000000000;
  // e4m3 has numbers beside its one NaN, all bits set. Results of e5m2 are never infinite.
  if (exponent == 4) shape.largest = shape.nan - 1;
  if (exponent == 4 || fraction == 2) shape.infinity = shape.largest;
  return shape;
}

/// Whether bits that are cut off, the highest `half` and others if `sticky`, round the size up.
bool rounds_up(Rounding rounding, bool negative, bool odd, bool half, bool sticky) {
  if (rounding == Rounding::nearest_away) return half;
  if (rounding == Rounding::nearest_even) return half && (sticky || odd);
  return rounding == (negative ? Rounding::down : Rounding::up) && (half || sticky);
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
                   const Modifiers& how) {
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

std::uint64_t in_register(PtxType format, std::uint64_t bits) {
  return format == PtxType::tf32 ? bits << 13 : bits;
}

}  // namespace

PtxType ptx_type(std::string_view part) {
  const auto* const found = std::ranges::find(kTypes, part, &TypeFacts::name);
  return found == std::end(kTypes) ? PtxType::none : static_cast<PtxType>(found - kTypes);
}

int bits_of(PtxType type) { return kTypes[static_cast<std::size_t>(type)].bits; }

FloatFields fields_of(PtxType type) {
  const TypeFacts& facts = kTypes[static_cast<std::size_t>(type)];
  return {facts.exponent_bits, facts.fraction_bits};
}

bool is_pair(PtxType type) { return kTypes[static_cast<std::size_t>(type)].name.ends_with("x2"); }

std::uint64_t encode(PtxType format, double value, const Modifiers& how) {
  const Shape shape = shape_of(format);
  if (how.flush_subnormals && std::abs(value) < 0x1p-126) value = std::copysign(0.0, value);
  if (how.saturate) value = value > 0 ? std::min(value, 1.0) : 0.0;
  if (std::isnan(value)) return in_register(format, shape.nan);
  if (how.relu && std::signbit(value)) return 0;
  const bool is_nearest = how.rounding == Rounding::nearest_even && !how.saturate_finite;
  if (format == PtxType::f32 && is_nearest && !how.flush_subnormals) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  const bool negative = std::signbit(value);
  std::uint64_t bits = 0;
  if (std::isinf(value)) {
    bits = (negative ? shape.sign : 0) | (how.saturate_finite ? shape.largest : shape.infinity);
  } else {
    const auto raw = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t fraction = raw & ((1ull << 52) - 1), exponent = raw >> 52 & 0x7FF;
    bits = pack(shape, negative, exponent == 0 ? fraction : fraction | 1ull << 52,
                std::max(static_cast<int>(exponent), 1) - 1075, how);
  }
  if (how.flush_subnormals && format == PtxType::f32 && (bits & 0x7F800000) == 0) {
    bits &= shape.sign;
  }
  return in_register(format, bits);
}

double decode(PtxType format, std::uint64_t bits) {
  if (format == PtxType::f64) return std::bit_cast<double>(bits);
  if (format == PtxType::f32) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
  if (format == PtxType::tf32) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0xFFFFE000));
  }
  const Shape shape = shape_of(format);
  const std::uint64_t size = bits & (shape.sign - 1);
  const double sign = (bits & shape.sign) != 0 ? -1.0 : 1.0;
  if (shape.fraction_bits == 2 && size == 0x7C) return sign * INFINITY;
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
  // This program never leaves round-to-nearest.
  constexpr double (*kRound[])(double) = {std::nearbyint, std::trunc, std::floor, std::ceil,
                                          std::round};
  return kRound[static_cast<std::size_t>(rounding)](value);
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

std::uint64_t encode_from_integer(PtxType format, std::uint64_t value, bool is_signed,
                                  const Modifiers& how) {
  const bool negative = is_signed && static_cast<std::int64_t>(value) < 0;
  const std::uint64_t size = negative ? 0 - value : value;
  const auto exact = static_cast<double>(size);
  if (size >> 53 == 0) return encode(format, negative ? -exact : exact, how);
  return in_register(format, pack(shape_of(format), negative, size, 0, how));
}

}  // namespace assay::emulator
