#include "judge/host_products.h"

#include <bit>
#include <cstdint>
#include <vector>

#include "matchers.h"

namespace assay {
namespace {

template <typename T>
Operand operand(std::vector<T>& values, DType dtype, std::vector<std::int64_t> shape) {
  return {reinterpret_cast<CUdeviceptr>(values.data()), dtype, std::move(shape)};
}

std::uint16_t bf16(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

TEST(HostProducts, EachTransposeMakesTheSameProduct) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, a_t = {1, 4, 2, 5, 3, 6};  // 2 x 3
  std::vector<float> b = {1, 0, 2, 0, 1, 1}, b_t = {1, 2, 1, 0, 0, 1};  // 3 x 2
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      std::vector<float> out(4);
      const GemmShape gemm{2, 2, 3, 1, transpose_a, transpose_b, DType::f32};
      multiply_on_host(
          gemm, transpose_a ? operand(a_t, DType::f32, {3, 2}) : operand(a, DType::f32, {2, 3}),
          transpose_b ? operand(b_t, DType::f32, {2, 3}) : operand(b, DType::f32, {3, 2}),
          operand(out, DType::f32, {2, 2}));
      EXPECT_THAT(out, ElementsAre(8, 3, 20, 6)) << transpose_a << transpose_b;
    }
  }
}

TEST(HostProducts, SumsAreRoundedOnceToTheEvenOneOfTwo) {
  // 256 + 1 lies halfway between the bf16 numbers 256 and 258, and 258 + 1 between 258 and 260.
  std::vector<std::uint16_t> a = {bf16(256), bf16(1), bf16(258), bf16(1)}, b = {bf16(1), bf16(1)};
  std::vector<std::uint16_t> out(2);
  multiply_on_host({2, 1, 2, 1, false, false, DType::bf16}, operand(a, DType::bf16, {2, 2}),
                   operand(b, DType::bf16, {2, 1}), operand(out, DType::bf16, {2, 1}));
  EXPECT_THAT(out, ElementsAre(bf16(256), bf16(260)));
}

struct SparseProduct {
  std::vector<std::int32_t> starts, columns;
  std::vector<float> values = {2, 3, 4}, x = {10, 100};
  std::vector<float> out = std::vector<float>(3);

  void multiply() {
    OperationCall call;
    call.operands = {{"starts", operand(starts, DType::i32, {4})},
                     {"columns", operand(columns, DType::i32, {3})},
                     {"values", operand(values, DType::f32, {3})},
                     {"x", operand(x, DType::f32, {2})},
                     {"out", operand(out, DType::f32, {3})}};
    multiply_sparse_on_host(call);
  }
};

TEST(HostProducts, ASparseMatrixMayHaveEmptyRows) {
  SparseProduct product{{0, 2, 2, 3}, {0, 1, 1}};
  product.multiply();
  EXPECT_THAT(product.out, ElementsAre(320, 0, 400));
}

TEST(HostProducts, RefuseASparseMatrixThatLeavesItsValuesOrTheVector) {
  EXPECT_THROW((SparseProduct{{0, 2, 2, 4}, {0, 1, 1}}.multiply()), Failure);
  EXPECT_THROW((SparseProduct{{0, 2, 1, 3}, {0, 1, 1}}.multiply()), Failure);
  EXPECT_THROW((SparseProduct{{1, 2, 2, 3}, {0, 1, 1}}.multiply()), Failure);
  EXPECT_THROW((SparseProduct{{0, 2, 2, 3}, {0, 2, 1}}.multiply()), Failure);
}

}  // namespace
}  // namespace assay
