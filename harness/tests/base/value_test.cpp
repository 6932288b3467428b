#include "base/value.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "message_of.h"

namespace assay {
namespace {

std::string config_error(std::string_view text) {
  return message_of<UsageError>([&] { parse_config(text); });
}

TEST(ValueText, ConfigRoundTrips) {
  const Config config = {{"BLOCK_M", 128}, {"SCHEDULE", "row"}, {"BIAS", INT64_MIN}};
  EXPECT_EQ(to_text(config), "BLOCK_M=128,SCHEDULE=row,BIAS=-9223372036854775808");
  EXPECT_EQ(parse_config(to_text(config)), config);
}

TEST(ValueText, ProblemRoundTrips) {
  const Problem problem = {{"M", 1}, {"N", INT64_MAX}};
  EXPECT_EQ(to_text(problem), "M=1,N=9223372036854775807");
  EXPECT_EQ(parse_problem(to_text(problem)), problem);
}

TEST(ValueText, NumbersOfAProblemHaveOneText) {
  const Problem problem = {{"N", 4}, {"density", 0.05}, {"eps", 1e-05}, {"skew", 0}, {"big", 1e20}};
  EXPECT_EQ(to_text(problem), "N=4,density=0.05,eps=1e-05,skew=0,big=1e+20");
  EXPECT_EQ(parse_problem(to_text(problem)), problem);
  EXPECT_EQ(parse_problem("N=4,density=0.050,eps=0.00001,skew=0.0,big=1e20"), problem);
  EXPECT_EQ(to_number(-0.0), Number(std::int64_t{0}));
  EXPECT_EQ(to_number(3), Number(std::int64_t{3}));
  EXPECT_EQ(to_real(to_number(0.1 + 0.2)), 0.1 + 0.2);
  for (const char* text : {"A=1e999", "A=nan", "A=inf", "A=1.5x", "A=.", "A=0x1.8p1"}) {
    EXPECT_THROW(parse_problem(text), UsageError) << text;
  }
}

// A kernel without parameters has one configuration, whose text is empty.
TEST(ValueText, EmptyRoundTrips) {
  EXPECT_EQ(to_text(Config{}), "");
  EXPECT_EQ(parse_config(""), Config{});
  EXPECT_EQ(parse_problem(""), Problem{});
}

TEST(ValueText, KeepsTheOrderGiven) {
  EXPECT_NE(parse_problem("M=1,N=2"), parse_problem("N=2,M=1"));
}

TEST(ValueText, NamesThePartThatIsNoPair) {
  EXPECT_EQ(config_error("A=1,B"), "expected NAME=value, found \"B\" in \"A=1,B\"");
  EXPECT_EQ(config_error("A=1,"), "expected NAME=value, found \"\" in \"A=1,\"");
  EXPECT_EQ(config_error(","), "expected NAME=value, found \"\" in \",\"");
  EXPECT_EQ(config_error("=1"), "expected NAME=value, found \"=1\" in \"=1\"");
  EXPECT_EQ(config_error("A="), "expected NAME=value, found \"A=\" in \"A=\"");
  EXPECT_EQ(config_error("A=1=2"), "expected NAME=value, found \"A=1=2\" in \"A=1=2\"");
  EXPECT_EQ(config_error("A=1 "), "expected NAME=value, found \"A=1 \" in \"A=1 \"");
  EXPECT_EQ(config_error("A=1x"), "expected NAME=value, found \"A=1x\" in \"A=1x\"");
  EXPECT_EQ(config_error("A=1,A=2"), "\"A\" is given twice in \"A=1,A=2\"");
}

TEST(ValueText, RefusesIntegersBeyond64Bits) {
  EXPECT_THROW(parse_config("A=9223372036854775808"), UsageError);
  EXPECT_THROW(parse_problem("A=9223372036854775808"), UsageError);
}

TEST(ValueText, ProblemsHaveNoWords) {
  EXPECT_THAT(
      [&] { parse_problem("M=row"); },
      testing::ThrowsMessage<UsageError>("expected NAME=number, found \"M=row\" in \"M=row\""));
}

}  // namespace
}  // namespace assay
