// Products of small floating numbers whose blocks have scales: taken apart to fp32, then multiplied
// as such.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "judge/operation.h"

namespace assay {
namespace {

/// One side of a product: its values, their scales, and how these lie.
struct Side {
  const Operand& values;
  const Operand& scales;
  Blocks blocks;
  ScalePlaces places;

  std::int64_t scale_at(std::int64_t element) const {
    const std::int64_t row = element / blocks.columns;
    const std::int64_t across = element % blocks.columns / blocks.block_columns;
    const std::int64_t matrix = row / blocks.rows;
    const std::int64_t down = row % blocks.rows / blocks.block_rows;
    return places.transpose ? (matrix * blocks.across + across) * places.width + down
                            : (matrix * blocks.down + down) * places.width + across;
  }
};

/// Throws Failure `oracle` where the scales do not fit.
Side side_of(const OperationCall& call, const std::string& name) {
  const Operand& values = call.operand(name);
  const Operand& scales = call.operand(name + "_scales");
  const std::vector<std::int64_t>& shape = values.shape;
  const auto number = [&](const std::string& option) {
    return static_cast<std::int64_t>(call.number(option));
  };
  Side side{values, scales, {}, {call.flag(fmt::format("transpose_{}_scales", name))}};
  Blocks& blocks = side.blocks;
  blocks.rows = shape[shape.size() - 2];
  blocks.columns = shape.back();
  blocks.batch = values.elements() / (blocks.rows * blocks.columns);
  // One scale is of all.
  const bool single = scales.elements() == 1;
  blocks.block_rows = single ? blocks.rows : number(name + "_block_rows");
  blocks.block_columns = single ? blocks.columns : number("block_columns");
  if (blocks.block_rows < 1 || blocks.block_columns < 1) {
    throw oracle_failure("scaled_gemm: blocks of {} need a row and a column", name);
  }
  blocks.down = (blocks.rows + blocks.block_rows - 1) / blocks.block_rows;
  blocks.across = (blocks.columns + blocks.block_columns - 1) / blocks.block_columns;
  side.places.width = scales.shape.back();
  const std::int64_t outer = side.places.transpose ? blocks.across : blocks.down;
  const std::int64_t inner = side.places.transpose ? blocks.down : blocks.across;
  const bool fits =
      scales.elements() == blocks.batch * outer * side.places.width && side.places.width >= inner;
  if (!fits) {
    throw oracle_failure(
        "scaled_gemm: {} [{}] has {} x {} blocks of {} x {}, so {}_scales must have {} rows of {} "
        "or more for each matrix, but is [{}]",
        name, fmt::join(shape, ","), blocks.down, blocks.across, blocks.block_rows,
        blocks.block_columns, name, outer, inner, fmt::join(scales.shape, ","));
  }
  return side;
}

/// Makes a product of values with scales of one of fp32.
class ScaledProduct : public Operation {
 public:
  explicit ScaledProduct(const Operation& product) : product_(&product) {}

  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const Side a = side_of(call, "a"), b = side_of(call, "b");
    std::vector<OutputShape> made = product_->outputs(product_of(call, a.values, b.values));
    const std::int64_t block = std::min(a.blocks.block_columns, b.blocks.block_columns);
    made.front().arithmetic = sum_of_scaled_products(a.blocks.columns, block);
    return made;
  }

  bool makes_terms(const OperationCall&) const override { return true; }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Side a = side_of(call, "a"), b = side_of(call, "b");
    const auto [a_floats, b_floats] = engine.floats(a.values, b.values);
    for (const auto& [side, floats] : {std::pair{&a, &a_floats}, std::pair{&b, &b_floats}}) {
      engine.support().dequantise(side->values.dtype, side->values.data, side->blocks,
                                  side->scales.dtype, side->scales.data, side->places,
                                  floats->data);
    }
    product_->compute(product_of(call, a_floats, b_floats), engine);
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t output,
                                    std::int64_t index, const ReadElements& read) const override {
    const Side a = side_of(call, "a"), b = side_of(call, "b");
    const ReadElements scaled = [&](const Operand& operand, std::int64_t first, std::int64_t step,
                                    std::int64_t count) {
      std::vector<double> values = read(operand, first, step, count);
      for (const Side* side : {&a, &b}) {
        if (operand.data != side->values.data) continue;
        const std::vector<double> scales = read(side->scales, 0, 1, side->scales.elements());
        for (std::int64_t i = 0; i < count; ++i) {
          values[static_cast<std::size_t>(i)] *=
              scales[static_cast<std::size_t>(side->scale_at(first + i * step))];
        }
      }
      return values;
    };
    return product_->exact(product_of(call, a.values, b.values), output, index, scaled);
  }

 private:
  /// The product of the values alone; the rows of `b` are columns of the result.
  static OperationCall product_of(const OperationCall& call, const Operand& a, const Operand& b) {
    OperationCall product = call;
    product.operands["a"] = a;
    product.operands["b"] = b;
    product.options = {{"transpose_a", false}, {"transpose_b", true}};
    return product;
  }

  const Operation* product_;
};

}  // namespace

const Operation& operation::scaled_gemm() {
  static const ScaledProduct scaled_gemm(operation::gemm());
  return scaled_gemm;
}

const Operation& operation::grouped_scaled_gemm() {
  static const ScaledProduct grouped_scaled_gemm(operation::grouped_gemm());
  return grouped_scaled_gemm;
}

}  // namespace assay
