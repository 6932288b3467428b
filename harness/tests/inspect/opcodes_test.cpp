#include "inspect/code.h"

#include "example_code.h"

#include "matchers.h"

namespace assay::test {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

const std::string kFma = "fma.rn.f32 %f1, %f2, %f3, %f1;\n";
const std::string kAdd = "add.s32 %r1, %r1, 1;\n", kAddFloat = "add.f32 %f1, %f1, %f2;\n";
const std::string kShift = "shl.b32 %r2, %r1, 2;\n", kReturn = "ret;\n";

TEST(Opcodes, AreCountedByNameTheMostFrequentFirst) {
  const auto counts = count_opcodes(ptx_function(kFma + kAdd + kShift + kAddFloat + kReturn));
  ASSERT_FALSE(counts.empty());
  EXPECT_THAT(counts[0].opcodes, ElementsAre("add"));
  EXPECT_EQ(counts[0].count, 2);
  int sum = 0;
  for (const OpcodeCount& count : counts) sum += count.count;
  EXPECT_EQ(sum, 5);
}

TEST(Runs, AreToldOnceAndNotAlsoByTheirPartsAndRotations) {
  const auto runs = find_runs(ptx_function(repeated(kShift + kAdd + kFma, 9) + kReturn), 3);
  ASSERT_EQ(runs.size(), 1U);
  // Of three, six or seven: what covers most, 27 instructions.
  EXPECT_THAT(runs[0].opcodes, ElementsAre("shl", "add", "fma"));
  EXPECT_EQ(runs[0].count, 9);
}

TEST(Runs, OfOneOpcodeAndRareOnesAreNone) {
  EXPECT_THAT(find_runs(ptx_function(repeated(kFma, 50) + kReturn), 3), IsEmpty());
  EXPECT_THAT(find_runs(ptx_function(repeated(kFma + kAdd, 2) + kReturn), 3), IsEmpty());
}

TEST(Runs, DoNotOverlapThemselvesNorCrossABlock) {
  // add shl add shl add: "add shl add" is there once, and its second copy would share an add.
  const auto runs = find_runs(
      ptx_function(repeated(kAdd + kShift, 3) + "@%p1 bra $L_1;\n$L_1:\n" + kAdd + kReturn), 3);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_THAT(runs[0].opcodes, ElementsAre("add", "shl"));
  EXPECT_EQ(runs[0].count, 3);
}

}  // namespace
}  // namespace assay::test
