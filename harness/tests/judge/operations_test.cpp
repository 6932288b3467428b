// The operations' host side: shapes, and the check in fp64, over tensors in the host's memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/operations/gemm.h"
#include "judge/reference.h"
#include "judge/spot_check.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// Tensors of doubles that stand for the device's.
class HostTensors {
 public:
  Operand add(std::vector<std::int64_t> shape, std::vector<double> values) {
    tensors_.push_back(std::move(values));
    return {tensors_.size() - 1, DType::f32, std::move(shape)};
  }

  ReadElements reader() const {
    return
        [this](const Operand& operand, std::int64_t first, std::int64_t step, std::int64_t count) {
          std::vector<double> values;
          for (std::int64_t i = 0; i < count; ++i) {
            values.push_back(tensors_[operand.data].at(static_cast<std::size_t>(first + i * step)));
          }
          return values;
        };
  }

  std::vector<double>& values(const Operand& operand) { return tensors_[operand.data]; }

 private:
  std::vector<std::vector<double>> tensors_;
};

std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.outcome().status, Status::runtime);
    EXPECT_EQ(failure.outcome().kind, "oracle");
    return failure.outcome().message;
  }
  return "accepted";
}

const OperationRow& row(const char* name) { return row_of(operations(), "operation", name); }

bool checked(const char* name, const OperationCall& call, const HostTensors& tensors) {
  const Operation& operation = operation_of(row(name).id);
  return spot_check(row(name), operation, call, operation.outputs(call), tensors.reader());
}

/// out[2,2] of a[2,3] and b[3,2], each stored as the flags say.
OperationCall product(HostTensors& tensors, bool transpose_a, bool transpose_b) {
  OperationCall call;
  call.options = {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}};
  call.operands["a"] = transpose_a ? tensors.add({3, 2}, {1, 4, 2, 5, 3, 6})
                                   : tensors.add({2, 3}, {1, 2, 3, 4, 5, 6});
  call.operands["b"] = transpose_b ? tensors.add({2, 3}, {7, 9, 11, 8, 10, 12})
                                   : tensors.add({3, 2}, {7, 8, 9, 10, 11, 12});
  call.operands["out"] = tensors.add({2, 2}, {58, 64, 139, 154});
  return call;
}

TEST(Gemm, EveryLayoutHasOneProduct) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      HostTensors tensors;
      const OperationCall call = product(tensors, transpose_a, transpose_b);
      const std::vector<OutputShape> made = operation_of(OperationId::gemm).outputs(call);
      ASSERT_EQ(made.size(), 1u);
      EXPECT_EQ(made[0].extents, (std::vector<std::int64_t>{2, 2}));
      EXPECT_EQ(made[0].sum_length, 3);
      EXPECT_TRUE(checked("gemm", call, tensors));
    }
  }
}

TEST(Gemm, ShapesThatDoNotFitAreNamed) {
  HostTensors tensors;
  OperationCall call = product(tensors, false, false);
  call.operands["b"].shape = {2, 3};
  EXPECT_EQ(failure_of([&] { operation_of(OperationId::gemm).outputs(call); }),
            "gemm: a [2,3] and b [2,3] do not fit");
  // A baseline would write past an output that is too small.
  call = product(tensors, false, false);
  call.operands["out"].shape = {2, 1};
  EXPECT_EQ(failure_of([&] { gemm_shape(call); }),
            "gemm: out is [2,1], but the product of a [2,3] and b [3,2] is not");
  call.options.clear();
  EXPECT_EQ(failure_of([&] { operation_of(OperationId::gemm).outputs(call); }),
            "the reference lacks flag transpose_a");
}

TEST(Add, MakesTheShapeOfItsInputs) {
  HostTensors tensors;
  OperationCall call;
  call.operands["a"] = tensors.add({3}, {1, 2, 3});
  call.operands["b"] = tensors.add({3}, {10, 20, 30});
  call.operands["out"] = tensors.add({3}, {11, 22, 33});
  EXPECT_EQ(operation_of(OperationId::add).outputs(call)[0].extents, std::vector<std::int64_t>{3});
  EXPECT_TRUE(checked("add", call, tensors));
  call.operands["b"].shape = {1, 3};
  EXPECT_EQ(failure_of([&] { operation_of(OperationId::add).outputs(call); }),
            "add: a is [3] but b is [1,3]");
}

TEST(SpotCheck, NamesTheElementThatIsWrong) {
  for (const std::size_t wrong : {0, 3}) {  // the first and the last are always in the sample
    HostTensors tensors;
    const OperationCall call = product(tensors, false, true);
    tensors.values(call.operand("out"))[wrong] += 1;
    EXPECT_THAT(failure_of([&] { checked("gemm", call, tensors); }),
                HasSubstr("the reference itself is wrong: gemm made " +
                          std::string(wrong == 0 ? "59 at element 0" : "155 at element 3")));
  }
}

/// Two outputs, no rule in fp64.
class Split : public Operation {
 public:
  std::vector<OutputShape> outputs(const OperationCall&) const override { return {{{1}}, {{1}}}; }
  void compute(const OperationCall&, OperationEngine&) const override {}
};

TEST(SpotCheck, AnOperationWithoutARuleIsNotCheckedAndTheNoteSaysSo) {
  HostTensors tensors;
  OperationCall call;
  call.operands["low"] = tensors.add({1}, {1});
  call.operands["high"] = tensors.add({1}, {2});
  const OperationRow split{OperationId::add, "split", {}, {{"low", 1, {}}, {"high", 1, {}}}};
  EXPECT_FALSE(spot_check(split, Split(), call, Split().outputs(call), tensors.reader()));
  Reference reference;
  EXPECT_EQ(unchecked_note(reference), "");
  reference.unchecked = {"split"};
  EXPECT_EQ(unchecked_note(reference),
            "the reference itself was not checked in fp64: there is no rule for split");
}

// An output of any rank takes its rank from an input, and a twin must be an input before.
TEST(Operations, RowsMakeSense) {
  for (const OperationRow& operation : operations()) {
    std::set<std::string_view> before;
    bool any_rank = false;
    for (const OperandRow& input : operation.inputs) {
      any_rank = any_rank || input.rank == 0;
      EXPECT_TRUE(input.same_as.empty() || before.contains(input.same_as)) << operation.name;
      before.insert(input.name);
    }
    EXPECT_FALSE(operation.outputs.empty()) << operation.name;
    for (const OperandRow& output : operation.outputs) {
      EXPECT_TRUE(output.rank > 0 || any_rank) << operation.name;
      EXPECT_TRUE(before.insert(output.name).second) << operation.name;
    }
    operation_of(operation.id);
  }
}

}  // namespace
}  // namespace assay
