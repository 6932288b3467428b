#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Element types of kernel arguments.
enum class DType { bf16, f16, f32, f64, i32, i64, u8 };

std::string_view to_text(DType dtype);
/// The texts of all of them.
std::vector<std::string> dtype_names();
std::optional<DType> parse_dtype(std::string_view text);
std::int64_t size_bytes(DType dtype);
bool is_floating(DType dtype);

/// Largest relative error of rounding to nearest (2^-8 for bf16, 2^-11 for f16, 2^-24 for f32,
/// 2^-53 for f64); 0 for integers.
double unit_roundoff(DType dtype);

}  // namespace assay
