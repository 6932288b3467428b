// The values of blocks over a scale for each, and the scales.
#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "judge/operation.h"

namespace assay {
namespace {

Blocks blocks_of(const OperationCall& call) {
  const Operand& x = call.operand("x");
  Blocks blocks;
  blocks.rows = x.shape.size() < 2 ? 1 : x.shape[x.shape.size() - 2];
  blocks.columns = x.shape.back();
  blocks.batch = x.elements() / (blocks.rows * blocks.columns);
  blocks.block_rows = static_cast<std::int64_t>(call.number("block_rows"));
  blocks.block_columns = static_cast<std::int64_t>(call.number("block_columns"));
  if (blocks.block_rows < 1 || blocks.block_columns < 1) {
    throw oracle_failure("quantise: a block needs a row and a column");
  }
  blocks.down = (blocks.rows + blocks.block_rows - 1) / blocks.block_rows;
  blocks.across = (blocks.columns + blocks.block_columns - 1) / blocks.block_columns;
  return blocks;
}

ScalePlaces places_of(const OperationCall& call) {
  return {call.flag("transpose_scales"), call.declared("scales").back()};
}

class Quantise : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall& call) const override {
    const Blocks blocks = blocks_of(call);
    const ScalePlaces places = places_of(call);
    const std::vector<std::int64_t>& scales = call.declared("scales");
    const std::int64_t outer = places.transpose ? blocks.across : blocks.down;
    const std::int64_t inner = places.transpose ? blocks.down : blocks.across;
    if (element_count(scales) != blocks.batch * outer * places.width || places.width < inner) {
      throw oracle_failure(
          "quantise: x [{}] has {} x {} blocks, so scales must have {} rows of {} or more for each "
          "matrix, but is [{}]",
          fmt::join(call.operand("x").shape, ","), blocks.down, blocks.across, outer, inner,
          fmt::join(scales, ","));
    }
    return {{call.operand("x").shape, of_functions()}, {scales, of_functions()}};
  }

  bool makes_terms(const OperationCall& call) const override { return call.terms_of("x") != 0; }

  void compute(const OperationCall& call, OperationEngine& engine) const override {
    const Operand &x = call.operand("x"), &out = call.operand("out");
    const Operand& scales = call.operand("scales");
    const Blocks blocks = blocks_of(call);
    const ScaleRule rule{call.number("limit"), call.flag("powers_of_two")};
    const Operand sizes{0, DType::f32, {blocks.batch * blocks.down * blocks.across}};
    const CUdeviceptr largest = engine.floats(sizes, sizes)[0].data;
    const SupportKernels& support = engine.support();
    support.largest(x.dtype, x.data, blocks, largest);
    support.quantise(x.dtype, x.data, blocks, largest, rule, out.dtype, out.data,
                     call.terms_of("x"), call.terms_of("out"));
    support.scales(blocks, largest, rule, places_of(call), scales.dtype, scales.data);
  }

  std::optional<ExactElement> exact(const OperationCall& call, std::size_t output,
                                    std::int64_t index, const ReadElements& read) const override {
    const Blocks blocks = blocks_of(call);
    std::int64_t row = index / blocks.columns,
                 across = index % blocks.columns / blocks.block_columns;
    std::int64_t matrix = row / blocks.rows, down = row % blocks.rows / blocks.block_rows;
    if (output == 1) {
      const ScalePlaces places = places_of(call);
      const std::int64_t outer = places.transpose ? blocks.across : blocks.down;
      across = index % places.width;
      down = index / places.width % outer;
      matrix = index / places.width / outer;
      if (places.transpose) std::swap(across, down);
      if (across >= blocks.across || down >= blocks.down) return ExactElement{};
    }
    const Operand& x = call.operand("x");
    double most = 0;
    const std::int64_t first = across * blocks.block_columns;
    const std::int64_t count = std::min(blocks.block_columns, blocks.columns - first);
    const std::int64_t end = std::min(blocks.rows, (down + 1) * blocks.block_rows);
    for (std::int64_t i = down * blocks.block_rows; i < end; ++i) {
      const std::int64_t begin = (matrix * blocks.rows + i) * blocks.columns + first;
      for (const double value : read(x, begin, 1, count)) most = std::max(most, std::abs(value));
    }
    double scale = most > 0 ? most / call.number("limit") : 1;
    if (call.flag("powers_of_two")) scale = std::exp2(std::ceil(std::log2(scale)));
    const double exact = output == 1 ? scale : read(x, index, 1, 1)[0] / scale;
    return ExactElement{exact, std::abs(exact)};
  }
};

}  // namespace

const Operation& operation::quantise() { return only<Quantise>(); }

}  // namespace assay
