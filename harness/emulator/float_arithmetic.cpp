#include "emulator/float_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay::emulator {
namespace {

using Operation = FloatOperation;

/// A double that rounds to every shorter format, in every direction, as the exact value does that
/// `nearest` is the double next to and `error` more: if it is not exact, its last bit is 1
/// ("rounding to odd").
double to_odd(double nearest, double error) {
  const auto bits = std::bit_cast<std::uint64_t>(nearest);
  if (error == 0 || std::isnan(error) || std::isinf(nearest) || (bits & 1) != 0) return nearest;
  // Away from zero if the rest has the sign, else one step towards zero.
  return std::bit_cast<double>(std::signbit(nearest) == std::signbit(error) ? bits + 1 : bits - 1);
}

/// A sum that is 0 is -0 when rounding is down, unless both terms are +0.
double sum(double a, double b, Rounding rounding) {
  const double sum = a + b, part = sum - a;
  const bool down = rounding == Rounding::down && (std::signbit(a) || std::signbit(b));
  return sum == 0 && down ? -0.0 : to_odd(sum, (a - (sum - part)) + (b - part));
}

double quotient(double a, double b) {
  const double quotient = a / b;
  if (std::isinf(quotient) || std::isnan(quotient) || quotient == 0) return quotient;
  const double rest = std::fma(-quotient, b, a);
  return to_odd(quotient, b < 0 ? -rest : rest);
}

double root(double a) {
  const double root = std::sqrt(a);
  return root > 0 && !std::isinf(root) ? to_odd(root, std::fma(-root, root, a)) : root;
}

double min_max(double a, double b, bool is_max, const FloatMode& mode) {
  const double sign = std::signbit(a) != std::signbit(b) ? -1 : 1;
  if (mode.xor_sign) a = std::abs(a), b = std::abs(b);
  double result = (a < b || (a == b && std::signbit(a))) == is_max ? b : a;
  if (std::isnan(a) || std::isnan(b)) {
    result = mode.propagate_nan ? NAN : std::isnan(a) ? b : a;
    if (std::isnan(result)) return NAN;
  }
  return mode.xor_sign ? std::copysign(result, sign) : result;
}

/// Exact, or rounded so that it can be rounded again.
double exact(Operation operation, const FloatMode& mode, double a, double b, double c) {
  switch (operation) {
    case Operation::add:
      return sum(a, b, mode.rounding);
    case Operation::sub:
      return sum(a, -b, mode.rounding);
    case Operation::mul:
      return a * b;
    case Operation::div:
      return quotient(a, b);
    case Operation::div_approx:  // 0 of very large divisors
      return std::isfinite(b) && std::abs(b) > 0x1p126 && std::isfinite(a)
                 ? std::copysign(0.0, a * b)
                 : quotient(a, b);
    case Operation::fma:
      return sum(a * b, c, mode.rounding);
    case Operation::sqrt:
      return root(a);
    case Operation::rcp:
      return quotient(1, a);
    case Operation::neg:
      return -a;
    case Operation::abs:
      return std::abs(a);
    case Operation::min:
    case Operation::max:
      return min_max(a, b, operation == Operation::max, mode);
    case Operation::copysign:
      return std::copysign(b, a);
    case Operation::ex2:
      return std::exp2(a);
    case Operation::lg2:
      return std::log2(a);
    case Operation::sin:
      return std::sin(a);
    case Operation::cos:
      return std::cos(a);
    case Operation::tanh:
      return std::tanh(a);
    case Operation::rsqrt:
      break;
  }
  return 1.0 / std::sqrt(a);
}

}  // namespace

std::uint32_t compute(FloatOperation operation, const FloatMode& mode, std::uint32_t a,
                      std::uint32_t b, std::uint32_t c) {
  if (is_pair(mode.type)) {
    FloatMode one = mode;
    one.type = mode.type == PtxType::f16x2 ? PtxType::f16 : PtxType::bf16;
    return compute(operation, one, a >> 16, b >> 16, c >> 16) << 16 |
           compute(operation, one, a, b, c);
  }
  const FloatFields fields = fields_of(mode.type);
  const std::uint32_t sign = 1u << (fields.exponent_bits + fields.fraction_bits);
  const std::uint32_t exponent = sign - (1u << fields.fraction_bits);
  const auto flushed = [&](std::uint32_t bits) {
    return mode.flush_subnormals && (bits & exponent) == 0 ? bits & sign : bits;
  };
  const auto read = [&](std::uint32_t bits) { return decode(mode.type, flushed(bits)); };
  const double result = exact(operation, mode, read(a), read(b), read(c));
  const Conversion how{mode.rounding, false, mode.relu, mode.saturate, false};
  return flushed(static_cast<std::uint32_t>(encode(mode.type, result, how)));
}

double approximate_f64(FloatOperation operation, double a) {
  // The results have 20 bits of fraction, and no subnormals.
  if (std::abs(a) < 0x1p-1022) a = std::copysign(0.0, a);
  const double result = operation == FloatOperation::rcp ? 1.0 / a : 1.0 / std::sqrt(a);
  if (std::isnan(result)) return result;
  if (std::abs(result) < 0x1p-1022) return std::copysign(0.0, result);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) & 0xFFFFFFFF00000000u);
}

}  // namespace assay::emulator
