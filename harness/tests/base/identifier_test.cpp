#include "base/text.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(IsIdentifier, TakesLettersDigitsAndUnderscores) {
  for (const char* good : {"a", "_", "BLOCK_M", "x2", "_2", "Zz9"}) {
    EXPECT_TRUE(is_identifier(good)) << good;
  }
  for (const char* bad : {"", "2", "2d", "a-b", "a b", "a.b", " a", "a\n", "\xC3\xA4", "a:"}) {
    EXPECT_FALSE(is_identifier(bad)) << bad;
  }
}

TEST(IsReserved, KnowsKeywordsAndFunctionsOfExpressions) {
  for (const char* reserved : {"alignas", "class", "static_assert", "xor_eq", "cdiv", "max"}) {
    EXPECT_TRUE(is_reserved(reserved)) << reserved;
  }
  for (const char* free : {"", "Class", "classes", "cdiv2", "row"}) {
    EXPECT_FALSE(is_reserved(free)) << free;
  }
}

}  // namespace
}  // namespace assay
