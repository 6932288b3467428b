#include "store/json_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace assay {
namespace {

// RapidJSON's own exact reading took a zero with an exponent, or with many digits, for some other
// number (found by fuzzing).
TEST(JsonText, ReadsNumbersExactly) {
  json_text::Parser parser;
  for (const char* zero : {"0e30", "0.000000000000000000000000000000", "-0e40", "0e-30", "0e300"}) {
    const json_text::Json* json = parser.parse(zero);
    ASSERT_TRUE(json && json->IsDouble()) << zero;
    EXPECT_EQ(json->GetDouble(), 0) << zero;
  }
  for (const double real : {0.1, 1e-320, 1.7976931348623157e308, 123456789.12345679, 5e-324}) {
    EXPECT_EQ(parser.parse(fmt::format("{}", real))->GetDouble(), real);
  }
  EXPECT_EQ(parser.parse("1e-400")->GetDouble(), 0);
  EXPECT_EQ(parser.parse("18446744073709551615")->GetUint64(), 18446744073709551615u);
  EXPECT_EQ(parser.parse("-9223372036854775808")->GetInt64(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_TRUE(parser.parse("18446744073709551616")->IsDouble());
  for (const char* none : {"1e400", "10e308", "01", "1.", ".5", "+1", "1e", "0x1", "nan", "-"}) {
    EXPECT_EQ(parser.parse(none), nullptr) << none;
  }
}

// The library read behind a text that ended within a character (found by fuzzing; a sanitizer sees
// it).
TEST(JsonText, RefusesACharacterThatIsCutShort) {
  json_text::Parser parser;
  const std::string begin = "[\"a text too long to be kept within the string itself";
  for (const char* cut : {"\xc3", "\xe2", "\xe2\x82", "\xf0", "\xf0\x9f", "\xf0\x9f\x98"}) {
    EXPECT_EQ(parser.parse(begin + cut), nullptr);
    EXPECT_EQ(json_text::Parser().parse(begin + cut), nullptr);
  }
  EXPECT_NE(parser.parse(begin + "\xf0\x9f\x98\x80\"]"), nullptr);
}

}  // namespace
}  // namespace assay
