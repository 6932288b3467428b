#include "store/json_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace assay {
namespace {

// Another library's exact reading took a zero with an exponent, or with many digits, for some other
// number (found by fuzzing).
TEST(JsonText, ReadsNumbersExactly) {
  using json_text::parse;
  for (const char* zero : {"0e30", "0.000000000000000000000000000000", "-0e40", "0e-30", "0e300"}) {
    const auto json = parse(zero);
    ASSERT_TRUE(json && json->is_number_float()) << zero;
    EXPECT_EQ(json->get<double>(), 0) << zero;
  }
  for (const double real : {0.1, 1e-320, 1.7976931348623157e308, 123456789.12345679, 5e-324}) {
    EXPECT_EQ(parse(fmt::format("{}", real))->get<double>(), real);
  }
  EXPECT_EQ(parse("1e-400")->get<double>(), 0);
  EXPECT_EQ(parse("18446744073709551615")->get<std::uint64_t>(), 18446744073709551615u);
  EXPECT_EQ(parse("-9223372036854775808")->get<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(parse("18446744073709551616")->is_number_float());
  for (const char* none : {"1e400", "10e308", "01", "1.", ".5", "+1", "1e", "0x1", "nan", "-"}) {
    EXPECT_EQ(parse(none), std::nullopt) << none;
  }
}

// The library read behind a text that ended within a character (found by fuzzing; a sanitizer sees
// it).
TEST(JsonText, RefusesACharacterThatIsCutShort) {
  const std::string begin = "[\"a text too long to be kept within the string itself";
  for (const char* cut : {"\xc3", "\xe2", "\xe2\x82", "\xf0", "\xf0\x9f", "\xf0\x9f\x98"}) {
    EXPECT_EQ(json_text::parse(begin + cut), std::nullopt);
  }
  EXPECT_NE(json_text::parse(begin + "\xf0\x9f\x98\x80\"]"), std::nullopt);
}

// With a look-up of each key among all before it, a line of 16 MB would take hours.
TEST(JsonText, ReadsAnObjectOfManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 1'000'000; ++i) text += fmt::format("\"{}\":1,", i);
  const auto json = json_text::parse(text + "\"0\":2}");
  ASSERT_TRUE(json);
  EXPECT_EQ(json_text::member(*json, "0"), 1) << "the first";
}

}  // namespace
}  // namespace assay
