#include "base/expr.h"

#include <bit>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "message_of.h"

namespace assay {
namespace {

/// `column: message` of the mistake in `text`.
std::string mistake_in(std::string_view text, const Symbols& symbols) {
  try {
    Expr::parse(text, symbols);
  } catch (const ExprError& error) {
    return fmt::format("{}: {}", error.column, error.what());
  }
  return "none";
}

class ExprTest : public testing::Test {
 protected:
  ExprTest() {
    for (const char* name : {"M", "BLOCK_M", "SCHEDULE", "row", "grouped", "device.cc"}) {
      symbols_.add(name);
    }
    // A word, and a parameter that takes words, has the slot of the word as its value.
    values_ = {100, 64, symbols_.find("grouped"), symbols_.find("row"), symbols_.find("grouped"),
               90};
  }

  std::int64_t eval(std::string_view text) const {
    return Expr::parse(text, symbols_).eval(values_);
  }

  std::string mistake(std::string_view text) const { return mistake_in(text, symbols_); }

  std::string eval_error(std::string_view text) const {
    return message_of<EvalError>([&] { eval(text); });
  }

  Symbols symbols_;
  std::vector<std::int64_t> values_;
};

TEST_F(ExprTest, RealExpressionsDivideExactly) {
  const auto real = [&](std::string_view text) {
    return Expr::parse_real(text, symbols_).eval_real(values_);
  };
  EXPECT_EQ(real("7 / 4"), 1.75);
  EXPECT_EQ(real("1.5e3 + 1e-3"), 1500.001);
  EXPECT_EQ(real("-M / 8"), -12.5);
  EXPECT_EQ(real("1 / sqrt(BLOCK_M)"), 0.125);
  EXPECT_EQ(real("cdiv(M, 64) + min(0.5, 2) + 7 % 4"), 5.5);
  EXPECT_EQ(real("M > 99.5 ? 0.25 : 4"), 0.25);
  EXPECT_EQ(real("SCHEDULE == grouped"), 1);
  EXPECT_EQ(real("9007199254740993 * 0 + 010"), 10);
  EXPECT_THROW(real("1 / (M - 100)"), EvalError);
  EXPECT_THROW(real("sqrt(0 - M)"), EvalError);
  EXPECT_THROW(real("1e300 * 1e300"), EvalError);
  for (const char* text : {"1.5.2", "0x10", "1e", "sqrt(1, 2)", "sqrt()", "cdiv(1)", "1.5M"}) {
    EXPECT_THROW(real(text), ExprError) << text;
  }
  EXPECT_EQ(mistake("sqrt(4)"),
            "0: unknown function \"sqrt\"; known are cdiv, min, max, floor, ceil, round");
}

// A trait is real whatever its value, and an integer is made of it on purpose.
TEST(RealNames, AreRealInWhatRoundsThem) {
  Symbols symbols;
  symbols.add("N");
  symbols.add("density", true);
  const std::vector<std::int64_t> values = {1000, std::bit_cast<std::int64_t>(0.0125)};
  const auto eval = [&](const char* text) { return Expr::parse(text, symbols).eval(values); };
  EXPECT_EQ(eval("floor(density * N)"), 12);
  EXPECT_EQ(eval("ceil(density * N)"), 13);
  EXPECT_EQ(eval("round(density * N)"), 13);
  EXPECT_EQ(eval("round(0 - density * N)"), -13);
  EXPECT_EQ(eval("7 / 4 + floor(7 / 4 + 0.25) * cdiv(N, 999)"), 5);
  EXPECT_EQ(eval("N > 1 ? floor(density > 0.01 && N > 2 ? 4.5 : 8) : 0"), 4);
  EXPECT_EQ(eval("N < 1 && floor(1 / (density - density)) || 2"), 1);
  EXPECT_EQ(Expr::parse_real("floor(density * N) / 8", symbols).eval_real(values), 1.5);
  EXPECT_EQ(Expr::parse_real("density", symbols).eval_real(values), 0.0125);
  EXPECT_THROW(eval("floor(1 / (density - density))"), EvalError);
  EXPECT_THROW(eval("floor(1e300)"), EvalError);
  EXPECT_EQ(Expr::parse("floor(density)", symbols).slots(), std::vector<int>{1});
  for (const char* text : {"density", "density * 2", "floor(density) + density", "min(N, density)",
                           "1.5", "floor(1, 2)", "sqrt(4)"}) {
    EXPECT_THROW(Expr::parse(text, symbols), ExprError) << text;
  }
  EXPECT_EQ(mistake_in("N + density", symbols),
            "4: expected an integer, found \"density\", which is a real number; "
            "write such as round(density * 8)");
}

TEST_F(ExprTest, HasTheValueThatCGives) {
  const std::pair<const char*, std::int64_t> values[] = {
      {"2 + 3 * 4", 14},
      {"(2 + 3) * 4", 20},
      {"10 - 3 - 2", 5},
      {"100 / 7 / 2", 7},
      {"7 - 7 % 4 * 2", 1},
      {"1 + 1 < 3", 1},
      {"1 < 2 == 1", 1},
      {"0 && 0 || 1", 1},
      {"1 || 0 && 0", 1},
      {"!0 + 1", 2},
      {"-2 * -3", 6},
      {"- - 2", 2},
      {"1 - -1", 2},
      {"0 ? 1 : 0 ? 2 : 3", 3},
      {"1 ? 0 ? 1 : 2 : 3", 2},
      {"1 == 1 ? 5 : 6", 5},
      {"-7 / 2", -3},
      {"-7 % 2", -1},
      {"7 % -2", 1},
      {"cdiv(M, BLOCK_M)", 2},
      {"cdiv(128, 64)", 2},
      {"cdiv(0, 64)", 0},
      {"cdiv(-7, 2)", -3},
      {"cdiv(-7, -2)", 4},
      {"cdiv(9223372036854775807, 2)", 4611686018427387904},
      {"min(3, 1, 2)", 1},
      {"max(3, 1, 2, 7, 5)", 7},
      {"min(max(1, 2), max(3, 4))", 2},
      {"5 && 7", 1},
      {"5 || 0", 1},
      {"0 || 7", 1},
      {"!7", 0},
      {"(3 && 4) + (0 || 9)", 2},
      {"(2 < 2) + (2 > 2) + 10 * (2 <= 2) + 100 * (2 >= 2)", 110},
      {"SCHEDULE == grouped", 1},
      {"SCHEDULE == row", 0},
      {"SCHEDULE != grouped || BLOCK_M == 64", 1},
      {"device.cc >= 90", 1}};
  for (const auto& [text, value] : values) EXPECT_EQ(eval(text), value) << text;
}

TEST_F(ExprTest, EvaluatesOnlyTheSideItNeeds) {
  EXPECT_EQ(eval("0 && 1 / 0"), 0);
  EXPECT_EQ(eval("1 || 1 / 0"), 1);
  EXPECT_EQ(eval("1 ? 2 : 1 / 0"), 2);
  EXPECT_EQ(eval("0 ? 1 / 0 : 2"), 2);
  EXPECT_EQ(eval("(0 && 1 / 0) || (1 || 1 / 0) && 3"), 1);
  EXPECT_EQ(eval_error("1 && 1 / 0"), "\"1 && 1 / 0\" divides by zero");
}

// A known operand that decides is enough, wherever it stands. Random spaces show that nothing is
// decided wrongly (AgreesWithBruteForceOnRandomSpaces).
TEST_F(ExprTest, MayHoldUntilWhatIsKnownDecides) {
  Symbols symbols;
  for (const char* name : {"a", "b", "c"}) symbols.add(name);
  const std::vector<std::size_t> levels = {0, 1, 2};
  const auto may_hold = [&](const char* text, std::size_t level) {
    return Expr::parse(text, symbols).may_hold(std::vector<std::int64_t>{1, 2, 3}, levels, level);
  };
  for (const char* text : {"a == 2 && b == 2", "b == 2 && a == 2", "(b == 2 || c == 3) && a == 2",
                           "a == 2 && b == 2 || a == 3 && c == 3", "!(a == 1 || b == 9)",
                           "a == 2 && 1 / b", "a == 1 ? 0 : b", "(b || 1) && !a", "a - 1"}) {
    EXPECT_FALSE(may_hold(text, 0)) << text;
  }
  for (const char* text : {"a == 1 && b == 9", "a == 2 || b == 9", "b == 9 ? a == 2 : a == 3",
                           "1 / (a - 1) && b", "9223372036854775807 + a", "a == 2 || 1 / b",
                           "floor(0.5 * b) == 7", "min(a, b) > 9", "-b == 9 || !c"}) {
    EXPECT_TRUE(may_hold(text, 0)) << text;
  }
  EXPECT_FALSE(may_hold("a == 1 && b == 9 && c == 3", 1));
  EXPECT_TRUE(may_hold("a == 1 && b == 2 && c == 9", 1));
  EXPECT_FALSE(may_hold("a == 1 && b == 2 && c == 9", 2));
}

TEST_F(ExprTest, ArithmeticIsExactOrAnError) {
  EXPECT_EQ(eval("2 * 3037000499 * 1518500249"), 2LL * 3037000499LL * 1518500249LL);
  EXPECT_EQ(eval("9223372036854775806 + 1"), INT64_MAX);
  EXPECT_EQ(eval("-9223372036854775807 - 1"), INT64_MIN);
  EXPECT_EQ(eval_error("9223372036854775807 + 1"),
            "\"9223372036854775807 + 1\" does not fit in 64 bits");
  EXPECT_NE(eval_error("-9223372036854775807 - 2"), "");
  EXPECT_NE(eval_error("4294967296 * 2147483648"), "");
  EXPECT_NE(eval_error("-(-9223372036854775807 - 1)"), "");
  EXPECT_NE(eval_error("(-9223372036854775807 - 1) / -1"), "");
  EXPECT_NE(eval_error("cdiv(-9223372036854775807 - 1, -1)"), "");
  EXPECT_EQ(eval("(-9223372036854775807 - 1) % -1"), 0);
  EXPECT_EQ(eval_error("M % 0"), "\"M % 0\" divides by zero");
  EXPECT_EQ(eval_error("cdiv(M, 0)"), "\"cdiv(M, 0)\" divides by zero");
}

TEST_F(ExprTest, KnowsWhatItReads) {
  EXPECT_THAT(Expr::parse("device.cc + M * M + BLOCK_M", symbols_).slots(),
              testing::ElementsAre(0, 1, 5));
  EXPECT_THAT(Expr::parse("1 + 2", symbols_).slots(), testing::IsEmpty());
  EXPECT_EQ(Expr::parse(" M+1 ", symbols_).text(), " M+1 ");
}

TEST_F(ExprTest, ConstantsNeedNoValues) {
  EXPECT_EQ(Expr::constant(INT64_MIN).eval({}), INT64_MIN);
  EXPECT_EQ(Expr::constant(-1).text(), "-1");
  EXPECT_THROW(Expr().eval({}), EvalError);
}

TEST_F(ExprTest, MistakesNameColumnAndThing) {
  EXPECT_EQ(mistake(""), "0: expected a number, a name or \"(\", found the end");
  EXPECT_EQ(mistake("  "), "2: expected a number, a name or \"(\", found the end");
  EXPECT_EQ(mistake("M +"), "3: expected a number, a name or \"(\", found the end");
  EXPECT_EQ(mistake("M + * 2"), "4: expected a number, a name or \"(\", found \"*\"");
  EXPECT_EQ(mistake("M BLOCK_M"), "2: expected an operator, found \"BLOCK_M\"");
  EXPECT_EQ(mistake("M = 1"), "2: expected an operator, found \"=\"");
  EXPECT_EQ(mistake("M & 1"), "2: expected an operator, found \"&\"");
  EXPECT_EQ(mistake("(M"), "2: expected \")\", found the end");
  EXPECT_EQ(mistake("M)"), "1: expected an operator, found \")\"");
  EXPECT_EQ(mistake("M ? 1"), "5: expected \":\", found the end");
  EXPECT_EQ(mistake("1.5"), "0: expected a decimal integer, found \"1.5\"");
  EXPECT_EQ(mistake("M + 0x10"), "4: expected a decimal integer, found \"0x10\"");
  EXPECT_EQ(mistake("010"), "0: expected a decimal integer, found \"010\"");
  EXPECT_EQ(mistake("9223372036854775808"), "0: 9223372036854775808 does not fit in 64 bits");
  EXPECT_EQ(mistake("M * \xc3\x97 2"), "4: expected a number, a name or \"(\", found \"\xc3\x97\"");
  EXPECT_EQ(mistake("1 < M < 3"), "6: comparisons do not chain; join two with &&");
  EXPECT_EQ(mistake("1 == M == 3"), "7: comparisons do not chain; join two with &&");
}

TEST_F(ExprTest, UnknownNamesGetASuggestion) {
  EXPECT_EQ(mistake("2 * BLOK_M"), "4: unknown name \"BLOK_M\"; did you mean \"BLOCK_M\"?");
  EXPECT_EQ(mistake("SCHEDULE == gruoped"),
            "12: unknown name \"gruoped\"; did you mean \"grouped\"?");
  EXPECT_EQ(mistake("STAGES"), "0: unknown name \"STAGES\"");
  EXPECT_EQ(mistake("device.smem"), "0: unknown name \"device.smem\"");
}

TEST_F(ExprTest, FunctionsCheckTheirArguments) {
  EXPECT_EQ(mistake("1 + cdiv(M)"), "4: cdiv takes 2 arguments, found 1");
  EXPECT_EQ(mistake("cdiv(M, 1, 2)"), "0: cdiv takes 2 arguments, found 3");
  EXPECT_EQ(mistake("min(M)"), "0: min takes at least 2 arguments, found 1");
  EXPECT_EQ(mistake("min()"), "4: expected a number, a name or \"(\", found \")\"");
  EXPECT_EQ(mistake("abs(M)"),
            "0: unknown function \"abs\"; known are cdiv, min, max, floor, ceil, round");
  EXPECT_EQ(mistake("M(1)"),
            "0: unknown function \"M\"; known are cdiv, min, max, floor, ceil, round");
  EXPECT_EQ(mistake("min(1, 2"), "8: expected \")\", found the end");
}

TEST_F(ExprTest, DepthIsBoundedNotTheStack) {
  const auto nested = [](std::string_view open, std::string_view middle, std::string_view close,
                         int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += open;
    text += middle;
    for (int i = 0; i < times; ++i) text += close;
    return text;
  };
  EXPECT_EQ(eval(nested("(", "7", ")", 40)), 7);
  EXPECT_EQ(eval(nested("(1+", "0", ")", 40)), 40);
  for (const char* open : {"(", "!", "-", "min(1,", "1+(", "1?", "0?1:"}) {
    EXPECT_NE(mistake(nested(open, "1", "", 100000)), "none") << open;
  }
  // A long expression that is flat does not count as deeply nested.
  EXPECT_EQ(eval(nested("1+", "0", "", 100000)), 100000);
  // may_hold() keeps the first operand of && and ||, too: it wrote past the end of its stack.
  EXPECT_EQ(eval(nested("0 || 1 && (", "1", ")", 30)), 1);
  EXPECT_THAT(mistake(nested("0 || 1 && (", "1", ")", 40)),
              ::testing::HasSubstr("more than 64 operands wait here"));
}

TEST(Symbols, SlotsAreStable) {
  Symbols symbols;
  EXPECT_EQ(symbols.add("M"), 0);
  EXPECT_EQ(symbols.add("N"), 1);
  EXPECT_EQ(symbols.add("M"), 0);
  EXPECT_EQ(symbols.size(), 2u);
  EXPECT_EQ(symbols.find("N"), 1);
  EXPECT_EQ(symbols.find("n"), -1);
  EXPECT_EQ(symbols.name(1), "N");
}

}  // namespace
}  // namespace assay
