#include "space/scale_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace assay {
namespace {

std::int64_t cdiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::int64_t ScaleLayout::batch() const {
  std::int64_t product = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) product *= shape[i];
  return product;
}

std::int64_t ScaleLayout::rows() const { return shape[shape.size() - 2]; }
std::int64_t ScaleLayout::columns() const { return shape.back(); }
std::int64_t ScaleLayout::blocks_down() const { return cdiv(rows(), block_rows); }
std::int64_t ScaleLayout::blocks_across() const { return cdiv(columns(), block_columns); }

bool ScaleLayout::fits(const std::vector<std::int64_t>& scales) const {
  if (scales.size() != shape.size()) return false;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) {
    if (scales[i] != shape[i]) return false;
  }
  const std::int64_t outer = transpose ? blocks_across() : blocks_down();
  const std::int64_t inner = transpose ? blocks_down() : blocks_across();
  return scales[scales.size() - 2] == outer && scales.back() >= inner;
}

std::string ScaleLayout::text() const {
  std::vector<std::int64_t> least(shape.begin(), shape.end() - 2);
  least.push_back(transpose ? blocks_across() : blocks_down());
  least.push_back(transpose ? blocks_down() : blocks_across());
  return fmt::format("[{}], or longer rows", fmt::join(least, ","));
}

ScaleLayout scale_layout(const BufferPlan& values, bool transpose) {
  return {values.shape, static_cast<std::int64_t>(values.arguments.at("block_rows")),
          static_cast<std::int64_t>(values.arguments.at("block_columns")), transpose};
}

}  // namespace assay
