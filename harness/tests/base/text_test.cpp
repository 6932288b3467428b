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

const std::vector<std::string> kNames = {"M", "N", "BLOCK_M", "BLOCK_N", "device.cc", "grouped"};

TEST(Nearest, FindsTypingMistakes) {
  EXPECT_EQ(nearest("BLOK_M", kNames), "BLOCK_M");
  EXPECT_EQ(nearest("BLOCK_NN", kNames), "BLOCK_N");
  EXPECT_EQ(nearest("groupde", kNames), "grouped");
  EXPECT_EQ(nearest("device.c", kNames), "device.cc");
  EXPECT_EQ(nearest("bset", {"list", "best", "bench"}), "best");  // two letters changed places
}

TEST(Nearest, CaseCountsForLittle) {
  EXPECT_EQ(nearest("block_n", kNames), "BLOCK_N");
  EXPECT_EQ(nearest("m", kNames), "M");
}

TEST(Nearest, OtherWordsAreNotNear) {
  EXPECT_EQ(nearest("K", kNames), "");
  EXPECT_EQ(nearest("STAGES", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, LongWordsCostNothing) {
  const std::string word(1 << 20, 'a');
  EXPECT_EQ(nearest(word, {word}), "");
}

TEST(Nearest, SuggestionNamesOneOrAll) {
  EXPECT_EQ(suggestion("BLOCKM", kNames), "; did you mean \"BLOCK_M\"?");
  EXPECT_EQ(suggestion("f8", {"f16", "i32"}), "; known are f16, i32");
  EXPECT_EQ(suggestion("f8", {}), "");
}

}  // namespace
}  // namespace assay
