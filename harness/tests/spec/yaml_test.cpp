#include "spec/yaml.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "temp_folder.h"

namespace assay {
namespace {

class YamlTest : public testing::Test {
 protected:
  YamlPtr load(std::string_view text) const { return load_yaml(folder_.write("x.yaml", text)); }

  /// The texts of the list `x: [..]`.
  std::vector<std::string> items(std::string_view text) const {
    const YamlPtr root = load(text);  // the items live as long
    std::vector<std::string> texts;
    for (const YamlPtr& item : root->find("x")->list("a list")) {
      texts.push_back(item->text("a text"));
    }
    return texts;
  }

  /// `line:column` of byte `offset` of the scalar `x`.
  std::string place(std::string_view text, std::size_t offset) const {
    const Location where = load(text)->find("x")->at(offset);
    return fmt::format("{}:{}", where.line, where.column);
  }

  TempFolder folder_;
};

using Texts = std::vector<std::string>;

TEST_F(YamlTest, CallsKeepTheirCommas) {
  EXPECT_EQ(items("x: [cdiv(M, 64) * cdiv(N, 64), 1]"), (Texts{"cdiv(M, 64) * cdiv(N, 64)", "1"}));
  EXPECT_EQ(items("x: [min(a, max(b, c), d), e]"), (Texts{"min(a, max(b, c), d)", "e"}));
  EXPECT_EQ(items("x: [min(a,\n  b), c]"), (Texts{"min(a, b)", "c"}));
  EXPECT_EQ(items("x: ['min(a, b)', \"(c, d)\"]"), (Texts{"min(a, b)", "(c, d)"}));
}

TEST_F(YamlTest, LoneParenthesesHideNothing) {
  EXPECT_EQ(items("s: one (two\nx: [a, b]"), (Texts{"a", "b"}));
  EXPECT_EQ(items("x: [ # a (comment\n  a, b)\n]"), (Texts{"a", "b)"}));
  EXPECT_EQ(items("x: [a(, b]"), (Texts{"a(", "b"}));
  EXPECT_EQ(items("x: [\"(\", a, b), c]"), (Texts{"(", "a", "b)", "c"}));
}

TEST_F(YamlTest, ExclamationMarksAreText) {
  EXPECT_EQ(items("x: [!(a && b), !c, a != b]"), (Texts{"!(a && b)", "!c", "a != b"}));
}

TEST_F(YamlTest, PlacesInsideScalars) {
  EXPECT_EQ(place("x: abc", 2), "1:6");
  EXPECT_EQ(place("x: 'abc'", 2), "1:7");
  EXPECT_EQ(place("x: \"abc\"", 0), "1:5");
  EXPECT_EQ(place("x: abc", 3), "1:7");       // the end, where something is missing
  EXPECT_EQ(place("x: a\n   bc", 2), "2:4");  // folded lines
  EXPECT_EQ(place("x: a\n   bc", 3), "2:5");
  EXPECT_EQ(place("x: 'a  \n\n  b'", 2), "3:3");
  EXPECT_EQ(place("x: \"a\\x41b\"", 2), "1:4");  // an escape: the scalar
  EXPECT_EQ(place("x: |\n  abc", 1), "2:4");
}

TEST_F(YamlTest, IntegersAreDecimal) {
  const auto integer = [&](const char* text) {
    return load(fmt::format("x: {}", text))->find("x")->integer("an integer");
  };
  EXPECT_EQ(integer("0"), 0);
  EXPECT_EQ(integer("-7"), -7);
  EXPECT_EQ(integer("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(integer("-9223372036854775808"), INT64_MIN);
  for (const char* text : {"010", "-010", "00", "+1", "0x1", "0o7", "1_000", "1e3", "1.0", "'1'",
                           "", "~", "[1]", "-", "9223372036854775808", "١"}) {
    EXPECT_THROW(integer(text), SpecError) << text;
  }
}

TEST_F(YamlTest, BooleansAreTrueAndFalse) {
  const auto boolean = [&](const char* text) {
    return load(fmt::format("x: {}", text))->find("x")->boolean("x");
  };
  EXPECT_TRUE(boolean("true"));
  EXPECT_FALSE(boolean("false"));
  for (const char* text : {"on", "off", "yes", "no", "True", "TRUE", "1", "0", "'true'", "y", ""}) {
    EXPECT_THROW(boolean(text), SpecError) << text;
  }
}

TEST_F(YamlTest, NumbersMayBePercent) {
  const auto number = [&](const char* text) {
    return load(fmt::format("x: {}", text))->find("x")->positive_number("a number");
  };
  EXPECT_DOUBLE_EQ(number("0.5%"), 0.005);
  EXPECT_DOUBLE_EQ(number("0.005"), 0.005);
  EXPECT_DOUBLE_EQ(number("100%"), 1);
  EXPECT_DOUBLE_EQ(number("2"), 2);
  for (const char* text : {"0", "0%", "-1", "1.", ".5", "1e", "1e+3", "nan", "inf", "1 %", "1%%",
                           "0x1p3", "'1'", "1.2.3", "[1]", ""}) {
    EXPECT_THROW(number(text), SpecError) << text;
  }
}

TEST_F(YamlTest, DepthIsBounded) {
  for (const std::string open : {"[", "{a: ", "- ", "? ", "(", "&a ", "'", "\"", "!", "{", "a: "}) {
    std::string text;
    while (text.size() < 50000) text += open;
    EXPECT_THROW(load(text)->integer("an integer"), SpecError) << open;
  }
}

// Each level doubles the size of what it stands for.
TEST_F(YamlTest, AliasesAreSharedUpToABound) {
  const auto levels = [](int count) {
    std::string text = "a0: &a0 [x]\n";
    for (int i = 1; i <= count; ++i) text += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
    return text;
  };
  EXPECT_EQ(load(levels(10))->find("a10")->list("a list").size(), 2u);
  EXPECT_THROW(load(levels(100)), SpecError);
}

}  // namespace
}  // namespace assay
