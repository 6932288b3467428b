#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Element types of kernel arguments.
enum class DType { bf16, f16, f32, f64, i32, i64, u8, i8, i16, u16, u32, u64 };

std::string_view to_text(DType dtype);
/// The texts of all of them.
std::vector<std::string> dtype_names();
std::optional<DType> parse_dtype(std::string_view text);
std::int64_t size_bytes(DType dtype);
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
/// 2^-53 for f64); 0 for integers.
double unit_roundoff(DType dtype);

}  // namespace assay
