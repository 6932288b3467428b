#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Element types of kernel arguments. ue8m0 is a power of two, for scales. Two e2m1 share a byte,
/// the first one in its lower half.
enum class DType {
  bf16,
  f16,
  f32,
  f64,
  e4m3,
  e5m2,
  ue8m0,
  e2m1,
  i32,
  i64,
  u8,
  i8,
  i16,
  u16,
  u32,
  u64
};

std::string_view to_text(DType dtype);
/// The texts of all of them.
std::vector<std::string> dtype_names();
std::optional<DType> parse_dtype(std::string_view text);
/// Of one element; 1 for e2m1.
std::int64_t size_bytes(DType dtype);
/// Of so many elements that follow each other.
std::int64_t size_bytes(DType dtype, std::int64_t elements);
bool is_floating(DType dtype);
/// Of integers: whether it has negative values.
bool is_signed(DType dtype);

/// Whether an argument of this type can hold the number: an integer is in its range, a real number
/// neither becomes infinite nor, unless it is 0, becomes 0.
bool holds(DType dtype, std::int64_t value);
bool holds(DType dtype, double value);
/// What it can hold: "0 to 255", "numbers up to 65504".
std::string range_text(DType dtype);

/// Largest relative error of rounding to nearest (2^-8 for bf16, 2^-11 for f16, 2^-24 for f32,
/// 2^-53 for f64, 2^-4 for e4m3); 0 for integers.
double unit_roundoff(DType dtype);

/// The largest finite number of a floating type.
double largest(DType dtype);
/// The bits of a type of at most 8 bits, to nearest even. What is too large becomes the largest
/// number. ue8m0 is rounded up, as a scale must be.
std::uint8_t small_float_bits(DType dtype, double value);

}  // namespace assay
