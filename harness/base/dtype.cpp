#include "base/dtype.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace assay {
namespace {

struct Row {
  DType dtype;
  std::string_view text;
  std::int64_t bits;
  int significand_bits;  // the implicit one included; 0 for integers
};

constexpr Row kRows[] = {
    {DType::bf16, "bf16", 16, 8},  {DType::f16, "f16", 16, 11}, {DType::f32, "f32", 32, 24},
    {DType::f64, "f64", 64, 53},   {DType::e4m3, "e4m3", 8, 4}, {DType::e5m2, "e5m2", 8, 3},
    {DType::ue8m0, "ue8m0", 8, 1}, {DType::e2m1, "e2m1", 4, 2}, {DType::i32, "i32", 32, 0},
    {DType::i64, "i64", 64, 0},    {DType::u8, "u8", 8, 0},     {DType::i8, "i8", 8, 0},
    {DType::i16, "i16", 16, 0},    {DType::u16, "u16", 16, 0},  {DType::u32, "u32", 32, 0},
    {DType::u64, "u64", 64, 0},
};

// Rows are found by the enumerator's number.
constexpr bool rows_in_order() {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_in_order());

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

/// The integers of a type, as far as 64 bits with a sign can name them.
struct Range {
  std::int64_t low, high;
};

Range range_of(DType dtype) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t bits = 8 * size_bytes(dtype);
  if (!is_signed(dtype)) return {0, bits == 64 ? kMost : (std::int64_t{1} << bits) - 1};
  const std::int64_t high = kMost >> (64 - bits);
  return {-high - 1, high};
}

/// The largest number and the smallest one that is not 0.
struct Extremes {
  double largest, smallest;
};

Extremes extremes_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return {0x1.FEp127, 0x1p-133};
    case DType::f16:
      return {65504, 0x1p-24};
    case DType::f32:
      return {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()};
    case DType::e4m3:
      return {448, 0x1p-9};
    case DType::e5m2:
      return {57344, 0x1p-16};
    case DType::ue8m0:
      return {0x1p127, 0x1p-127};
    case DType::e2m1:
      return {6, 0.5};
    default:
      return {std::numeric_limits<double>::max(), std::numeric_limits<double>::denorm_min()};
  }
}

}  // namespace

std::string_view to_text(DType dtype) { return row(dtype).text; }

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Row& candidate : kRows) names.emplace_back(candidate.text);
  return names;
}

std::optional<DType> parse_dtype(std::string_view text) {
  for (const Row& candidate : kRows) {
    if (candidate.text == text) return candidate.dtype;
  }
  return std::nullopt;
}

std::int64_t size_bytes(DType dtype) { return size_bytes(dtype, 1); }

std::int64_t size_bytes(DType dtype, std::int64_t elements) {
  const std::int64_t bits = row(dtype).bits;
  return bits < 8 ? (elements * bits + 7) / 8 : elements * (bits / 8);
}

bool is_floating(DType dtype) { return row(dtype).significand_bits > 0; }

bool is_signed(DType dtype) { return to_text(dtype).front() == 'i'; }

bool holds(DType dtype, std::int64_t value) {
  if (is_floating(dtype)) return holds(dtype, static_cast<double>(value));
  const Range range = range_of(dtype);
  return value >= range.low && value <= range.high;
}

bool holds(DType dtype, double value) {
  const Extremes extremes = extremes_of(dtype);
  const double size = std::abs(value);
  if (dtype == DType::ue8m0 && value <= 0) return false;
  return size == 0 || (size >= extremes.smallest && size <= extremes.largest);
}

std::string range_text(DType dtype) {
  if (is_floating(dtype)) return fmt::format("numbers up to {:.6g}", extremes_of(dtype).largest);
  const Range range = range_of(dtype);
  return fmt::format("{} to {}", range.low, range.high);
}

double unit_roundoff(DType dtype) {
  return is_floating(dtype) ? std::ldexp(1.0, -row(dtype).significand_bits) : 0.0;
}

double largest(DType dtype) { return extremes_of(dtype).largest; }

std::uint8_t small_float_bits(DType dtype, double value) {
  if (dtype == DType::ue8m0) {
    if (std::isnan(value)) return 0xFF;
    if (value <= 0x1p-127) return 0;
    return static_cast<std::uint8_t>(std::min(127.0, std::ceil(std::log2(value))) + 127);
  }
  const bool four = dtype == DType::e2m1;
  if (std::isnan(value) && !four) return 0x7F;
  const int mantissa_bits = row(dtype).significand_bits - 1;
  const int bias = dtype == DType::e4m3 ? 7 : dtype == DType::e5m2 ? 15 : 1;
  const double size =
      std::isnan(value) ? largest(dtype) : std::min(std::abs(value), largest(dtype));
  const int exponent = size > 0 ? std::max(std::ilogb(size), 1 - bias) : 1 - bias;
  // Where rounding reaches the next power of two, the carry goes to the exponent.
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, mantissa_bits - exponent)));
  const int bits = ((exponent + bias - 1) << mantissa_bits) + steps;
  const int sign = std::signbit(value) ? (four ? 8 : 0x80) : 0;
  return static_cast<std::uint8_t>(bits | sign);
}

}  // namespace assay
