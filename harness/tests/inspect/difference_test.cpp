#include "inspect/difference.h"

#include <algorithm>

#include "inspect/example_code.h"
#include "matchers.h"

namespace assay {
namespace {

Function function_of(const std::string& body) { return ptx_function(body + "\nret;"); }

// A loop with two labels, and its registers counted from `first`.
std::string loop_of(int first, const std::string& label, const std::string& more = "") {
  const auto r = [&](int i) { return "%r" + std::to_string(first + i); };
  return "mov.u32 " + r(0) + ", 0;\n" + label + ":\nadd.s32 " + r(1) + ", " + r(0) + ", " + r(1) +
         ";\n" + more + "setp.lt.s32 %p1, " + r(1) + ", 1000;\n@%p1 bra " + label + ";\n";
}

TEST(Difference, IsNoneWhereOnlyNamesChange) {
  const Difference difference = difference_of(function_of(loop_of(1, "$L_a")),
                                              function_of(loop_of(7, "$L_b")), InstructionSet::ptx);
  EXPECT_TRUE(difference.none());
}

TEST(Difference, SeesRegistersThatChangePlaces) {
  const Difference difference =
      difference_of(function_of("sub.s32 %r1, %r2, %r3;"), function_of("sub.s32 %r1, %r3, %r3;"),
                    InstructionSet::ptx);
  EXPECT_FALSE(difference.none());
}

TEST(Difference, TakesParametersByTheirPlace) {
  const auto none = [](const std::string& before, const std::string& after) {
    return difference_of(function_of("ld.param.u64 %rd1, [" + before + "];"),
                         function_of("ld.param.u64 %rd1, [" + after + "];"), InstructionSet::ptx)
        .none();
  };
  EXPECT_TRUE(none("gemm_param_1", "norm_param_1"));
  EXPECT_FALSE(none("gemm_param_1", "gemm_param_2"));
}

TEST(Difference, NamesTheBlockAndTheConstant) {
  const std::string head = "mov.u32 %r9, %r8;\nbra $L_0;\n$L_0:\n";
  const Difference difference = difference_of(
      function_of(head + loop_of(1, "$L_a")),
      function_of(head + loop_of(1, "$L_a", "fma.rn.f32 %f1, %f1, 0f40200000, %f1;\n")),
      InstructionSet::ptx);
  const auto changed = std::count_if(difference.blocks.begin(), difference.blocks.end(),
                                     [](const BlockPair& pair) { return !pair.same; });
  EXPECT_EQ(changed, 1);
  ASSERT_THAT(difference.constants, SizeIs(1));
  EXPECT_EQ(difference.constants[0].text, "2.5");
  EXPECT_EQ(difference.constants[0].count, 1);
}

TEST(Difference, FindsWhatWasPutBetween) {
  const std::string a = "add.s32 %r1, %r1, 1;\nbra $L_1;\n$L_1:\n";
  const std::string b = "mul.f32 %f1, %f1, %f2;\nbra $L_2;\n$L_2:\n";
  const std::string c = "st.global.f32 [%rd1], %f1;\n";
  const Difference difference =
      difference_of(function_of(a + c), function_of(a + b + c), InstructionSet::ptx);
  std::vector<std::pair<int, int>> pairs;
  for (const BlockPair& pair : difference.blocks) pairs.emplace_back(pair.before, pair.after);
  EXPECT_THAT(pairs, ElementsAre(std::pair(0, 0), std::pair(-1, 1), std::pair(1, 2)));
}

TEST(Difference, IsTheSameBothWays) {
  const Function a = function_of(loop_of(1, "$L_a"));
  const Function b = function_of(loop_of(1, "$L_a", "mul.f32 %f1, %f1, %f2;\n") + "bar.sync 0;\n");
  const auto count = [](const Difference& difference) {
    return std::count_if(difference.blocks.begin(), difference.blocks.end(),
                         [](const BlockPair& pair) { return pair.same; });
  };
  EXPECT_EQ(count(difference_of(a, b, InstructionSet::ptx)),
            count(difference_of(b, a, InstructionSet::ptx)));
  EXPECT_TRUE(difference_of(a, a, InstructionSet::ptx).none());
}

ClassCounts counts_of(int products, int counters) {
  ClassCounts counts{};
  counts[static_cast<std::size_t>(InstructionClass::fma)] = products;
  counts[static_cast<std::size_t>(InstructionClass::integer)] = counters;
  return counts;
}

TEST(TimesUnrolled, ComparesTheWorkAndNotTheCounter) {
  EXPECT_EQ(times_unrolled(counts_of(4, 2), counts_of(16, 2)), 4);
  EXPECT_EQ(times_unrolled(counts_of(16, 2), counts_of(4, 3)), 0.25);
  EXPECT_EQ(times_unrolled(counts_of(4, 2), counts_of(4, 9)), 0);
  EXPECT_EQ(times_unrolled(counts_of(4, 2), counts_of(6, 2)), 0);
  EXPECT_EQ(times_unrolled(counts_of(0, 2), counts_of(0, 4)), 0);
}

}  // namespace
}  // namespace assay
