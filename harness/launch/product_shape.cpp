#include "launch/product_shape.h"

namespace assay {

LtShape product_shape(const Plan& plan, const ReferenceSpec& product) {
  std::int64_t batch = 1;
  const auto matrix = [&](const char* operand) {
    const BufferPlan& buffer = *plan.find_buffer(product.operands.at(operand));
    const std::size_t rank = buffer.shape.size();
    if (rank == 3) batch = buffer.shape[0];
    return LtShape::Matrix{buffer.dtype, buffer.shape[rank - 2], buffer.shape[rank - 1]};
  };
  LtShape shape{matrix("a"), matrix("b"), matrix("out")};
  shape.batch = batch;
  shape.transpose_a = std::get<bool>(product.options.at("transpose_a"));
  shape.transpose_b = std::get<bool>(product.options.at("transpose_b"));
  return shape;
}

}  // namespace assay
