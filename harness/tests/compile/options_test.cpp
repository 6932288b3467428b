#include "compile/definitions.h"

#include "base/error.h"

#include "matchers.h"

namespace assay {
namespace {

TEST(CompileOptionsTest, OnlyAnArchitectureIsOne) {
  EXPECT_THAT(compile_options("90a"), Contains("--gpu-architecture=sm_90a"));
  for (const char* arch : {"", "9", "1234", "90b", "sm_90", "90a -G", "a", "90aa", "9a"}) {
    EXPECT_THROW(compile_options(arch), UsageError) << arch;
  }
  for (const char* arch : {"80", "90a", "100f", "120"}) EXPECT_NO_THROW(compile_options(arch));
}

TEST(CompileOptionsTest, SettingsBecomeOptions) {
  const auto plain = compile_options("86");
  EXPECT_EQ(compile_options("86", {}), plain);
  const auto options = compile_options("86", {{}, 17, true, 40, {"--fmad=false"}});
  for (const char* option :
       {"--std=c++17", "--use_fast_math", "--maxrregcount=40", "--fmad=false"}) {
    EXPECT_THAT(options, Contains(option));
    EXPECT_THAT(plain, Not(Contains(option)));
  }
  EXPECT_THAT(options, Not(Contains("--std=c++20")));
}

}  // namespace
}  // namespace assay
