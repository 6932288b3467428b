#include "space/launched.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "space/test_kernel.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// A kernel with a second launch that is skipped where `when` is 0.
KernelSpec two_launches(const std::string& when) {
  TestKernel kernel({"N"});
  kernel.param("SPLIT", {1, 4}).param("T", {"half", "float"}).let("large", "N > 100");
  const std::vector<ExprSpec> one = kernel.exprs({"1"});
  kernel.spec.launches = {{"main<T>", {}, one, one, {}, {}},
                          {"add<SPLIT>", kernel.expr(when), one, one, {}, {}},
                          {"main<T>", {}, one, one, {}, {}}};
  return kernel.spec;
}

std::vector<std::string> entries(const std::string& when, std::int64_t split) {
  return launched_entries(two_launches(when), {{"SPLIT", split}, {"T", "half"}}, test_device());
}

TEST(LaunchedEntries, AreInstantiatedAndNoneIsTwice) {
  EXPECT_THAT(entries("SPLIT > 1", 4), ElementsAre("main<half>", "add<4>"));
}

TEST(LaunchedEntries, LackWhatNoProblemLaunches) {
  EXPECT_THAT(entries("SPLIT > 1", 1), ElementsAre("main<half>"));
  EXPECT_THAT(entries("device.cc < 80", 4), ElementsAre("main<half>"));
  for (const char* when : {"N > 4", "SPLIT > 1 || large", "SPLIT > 1 && N > 4"}) {
    EXPECT_THAT(entries(when, 1), ElementsAre("main<half>", "add<1>")) << when;
  }
}

TEST(LaunchedEntries, AWordOfAnotherKernelIsTheCallersMistake) {
  EXPECT_THROW(launched_entries(two_launches("1"), {{"SPLIT", 1}, {"T", "double"}}, test_device()),
               UsageError);
}

TEST(MaxRegisters, AreAsTheContractSays) {
  TestKernel kernel({"N"});
  kernel.param("BLOCK", {64, 512, 0}).let("threads", "2 * BLOCK");
  const auto limit = [&](std::int64_t block) {
    return max_registers(kernel.spec, {{"BLOCK", block}}, test_device());
  };
  EXPECT_EQ(limit(64), 0);
  kernel.spec.compile.maxrregcount = kernel.expr("16384 / threads");
  EXPECT_EQ(limit(64), 128);
  for (const std::int64_t block : {16, 16384, 0}) EXPECT_THROW(limit(block), SpecError) << block;
}

TEST(CompilerOptions, AreInstantiated) {
  TestKernel kernel({"N"});
  kernel.param("FMAD", {0, 1}).param("CACHE", {"ca", "cg"});
  kernel.spec.compile.options = {{"--fmad={FMAD}"},
                                 {"--ftz=true", kernel.expr("FMAD == 0")},
                                 {"--ptxas-options=--def-load-cache={CACHE}"}};
  const auto options = [&](std::int64_t fmad, const char* cache) {
    return compiler_options(kernel.spec, {{"FMAD", fmad}, {"CACHE", cache}}, test_device());
  };
  EXPECT_THAT(options(1, "ca"), ElementsAre("--fmad=true", "--ptxas-options=--def-load-cache=ca"));
  EXPECT_THAT(options(0, "cg"),
              ElementsAre("--fmad=false", "--ftz=true", "--ptxas-options=--def-load-cache=cg"));
}

TEST(Defines, HaveTheValuesOfAProblemAndAConfiguration) {
  TestKernel kernel({"N"});
  kernel.param("BLOCK", {64, 128}).let("blocks", "(N + BLOCK - 1) / BLOCK");
  kernel.spec.compile.define = {{"BLOCKS", {"blocks", kernel.expr("blocks")}},
                                {"SIZE", {"2 * N", kernel.expr("2 * N")}},
                                {"TYPE", {"float"}}};
  const Problem problem = {{"N", std::int64_t{1000}}};
  EXPECT_THAT(defines(kernel.spec, problem, {{"BLOCK", 128}}, test_device()),
              ElementsAre(Pair("BLOCKS", "8"), Pair("SIZE", "2000"), Pair("TYPE", "float")));
  // A reference has no parameters.
  ReferenceKernelSpec own;
  own.define["OWN"] = {"N", kernel.expr("N")};
  EXPECT_THAT(own_defines(kernel.spec, own, problem, test_device()),
              ElementsAre(Pair("BLOCKS", "blocks"), Pair("OWN", "1000"), Pair("SIZE", "2000"),
                          Pair("TYPE", "float")));
}

TEST(FastMath, MayBeAChoice) {
  TestKernel kernel({"N"});
  kernel.param("FAST", {0, 1});
  EXPECT_FALSE(is_fast_math(kernel.spec, {{"FAST", 1}}, test_device()));
  kernel.spec.compile.fast_math = kernel.expr("FAST");
  EXPECT_TRUE(is_fast_math(kernel.spec, {{"FAST", 1}}, test_device()));
  EXPECT_FALSE(is_fast_math(kernel.spec, {{"FAST", 0}}, test_device()));
  EXPECT_FALSE(is_fast_math_always(kernel.spec));
  kernel.spec.compile.fast_math = kernel.expr("1");
  EXPECT_TRUE(is_fast_math_always(kernel.spec));
}

TEST(MacrosOf, LeavesOutWhatStandsInAnyEntry) {
  KernelSpec kernel = two_launches("SPLIT > 1");
  const Config config = {{"SPLIT", 1}, {"T", "half"}};
  EXPECT_EQ(macros_of(kernel, config), Config{});
  kernel.launches.resize(1);
  EXPECT_EQ(macros_of(kernel, config), (Config{{"SPLIT", 1}}));
}

TEST(SizesOf, AreThoseOfTheKernel) {
  EXPECT_EQ(sizes_of(two_launches("1"), {{"M", 2}, {"N", 3}}), (Config{{"N", 3}}));
}

}  // namespace
}  // namespace assay
