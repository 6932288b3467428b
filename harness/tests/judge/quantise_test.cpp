// The reference operation `quantise`: shapes, and its check in fp64.

#include "judge/operation.h"
#include "matchers.h"
#include "message_of.h"

namespace assay {
namespace {

/// x[3,5] in blocks of one row and two columns.
OperationCall call_with(std::vector<std::int64_t> scales, bool transpose) {
  OperationCall call;
  call.operands["x"] = {0, DType::f32, {3, 5}};
  call.options = {{"block_rows", 1.0},
                  {"block_columns", 2.0},
                  {"limit", 4.0},
                  {"powers_of_two", false},
                  {"transpose_scales", transpose}};
  call.declared_shapes["scales"] = std::move(scales);
  return call;
}

std::vector<double> elements_of_x(const Operand&, std::int64_t first, std::int64_t step,
                                  std::int64_t count) {
  const std::vector<double> x = {1, -2, 3, 4, 5, 0, 0, 8, 1, -6, 7, 1, 1, 1, 9};
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(x.at(static_cast<std::size_t>(first + i * step)));
  }
  return values;
}

TEST(Quantise, MakesTheLargestOfEachBlockTheLimit) {
  const Operation& operation = operation::quantise();
  const OperationCall call = call_with({3, 4}, true);
  const auto exact = [&](std::size_t output, std::int64_t index) {
    return operation.exact(call, output, index, elements_of_x)->value;
  };
  EXPECT_EQ(exact(0, 0), 2);    // 1 of a block whose largest is 2
  EXPECT_EQ(exact(0, 1), -4);   // that one
  EXPECT_EQ(exact(0, 4), 4);    // alone at the edge
  EXPECT_EQ(exact(0, 5), 0);    // of a block of zeros
  EXPECT_EQ(exact(1, 0), 0.5);  // the scales of the first two columns
  EXPECT_EQ(exact(1, 1), 1);
  EXPECT_EQ(exact(1, 2), 7 / 4.0);
  EXPECT_EQ(exact(1, 3), 0);  // padding
  EXPECT_EQ(exact(1, 4), 1);
  EXPECT_EQ(exact(1, 9), 6 / 4.0);
}

TEST(Quantise, ScalesHaveTheShapeThatTheKernelGivesThem) {
  const auto refusal = [](const std::vector<std::int64_t>& scales, bool transpose) {
    return message_of<Failure>(
        [&] { operation::quantise().outputs(call_with(scales, transpose)); });
  };
  EXPECT_EQ(refusal({3, 3}, true), "");
  EXPECT_EQ(refusal({3, 8}, false), "");
  EXPECT_THAT(refusal({3, 2}, false), HasSubstr("x [3,5] has 3 x 3 blocks"));
  EXPECT_THAT(refusal({4, 4}, true), HasSubstr("scales must have 3 rows of 3 or more"));
}

}  // namespace
}  // namespace assay
