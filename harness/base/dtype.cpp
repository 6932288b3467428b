#include "base/dtype.h"

#include <cmath>

namespace assay {
namespace {

struct Row {
  DType dtype;
  std::string_view text;
  std::int64_t bytes;
  int significand_bits;  // the implicit one included; 0 for integers
};

constexpr Row kRows[] = {
    {DType::bf16, "bf16", 2, 8}, {DType::f16, "f16", 2, 11}, {DType::f32, "f32", 4, 24},
    {DType::f64, "f64", 8, 53},  {DType::i32, "i32", 4, 0},  {DType::i64, "i64", 8, 0},
    {DType::u8, "u8", 1, 0},
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

std::int64_t size_bytes(DType dtype) { return row(dtype).bytes; }

bool is_floating(DType dtype) { return row(dtype).significand_bits > 0; }

double unit_roundoff(DType dtype) {
  return is_floating(dtype) ? std::ldexp(1.0, -row(dtype).significand_bits) : 0.0;
}

}  // namespace assay
