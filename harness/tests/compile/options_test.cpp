#include "compile/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace assay {
namespace {

using ::testing::Contains;

Config one(std::string name, Value value) { return {{std::move(name), std::move(value)}}; }

TEST(CompileOptionsTest, ValuesBecomeDefinitions) {
  const Config config{{"BLOCK_M", 128}, {"SHIFT", -1}, {"SCHEDULE", "row"}, {"_x1", "_"}};
  const auto options = compile_options(config, "90a");
  EXPECT_THAT(options, Contains("--gpu-architecture=sm_90a"));
  EXPECT_EQ(std::vector(options.end() - 4, options.end()),
            (std::vector<std::string>{"-DBLOCK_M=128", "-DSHIFT=-1", "-DSCHEDULE=row", "-D_x1=_"}));
}

TEST(CompileOptionsTest, NothingSmugglesInAnOption) {
  for (const char* word :
       {"", "a b", "1x", "a;b", "a\n-lineinfo", "-I/", "a=b", "\"a\"", "a(b)", "\xc3\xa9", "a\\"}) {
    EXPECT_THROW(compile_options(one("X", word), "86"), UsageError) << word;
    EXPECT_THROW(compile_options(one(word, 1), "86"), UsageError) << word;
  }
  for (const char* arch : {"", "9", "1234", "90b", "sm_90", "90a -G", "a", "90aa", "9a"}) {
    EXPECT_THROW(compile_options({}, arch), UsageError) << arch;
  }
  for (const char* arch : {"80", "90a", "100f", "120"}) EXPECT_NO_THROW(compile_options({}, arch));
}

TEST(CompileOptionsTest, SettingsBecomeOptions) {
  const auto plain = compile_options({}, "86");
  EXPECT_EQ(compile_options({}, "86", {}), plain);
  const auto options = compile_options({}, "86", {{{"X", "a b"}}, 17, true, 40});
  for (const char* option : {"--std=c++17", "--use_fast_math", "--maxrregcount=40", "-DX=a b"}) {
    EXPECT_THAT(options, Contains(option));
    EXPECT_THAT(plain, testing::Not(Contains(option)));
  }
  EXPECT_THAT(options, testing::Not(Contains("--std=c++20")));
  EXPECT_THROW(compile_options({}, "86", {{{"X Y", "1"}}}), UsageError);
}

TEST(CompileOptionsTest, TheErrorNamesTheParameter) {
  try {
    compile_options(one("SCHEDULE", "a b"), "86");
    FAIL() << "expected UsageError";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "SCHEDULE is \"a b\"; expected an integer or an identifier");
  }
}

}  // namespace
}  // namespace assay
