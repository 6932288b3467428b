#include "space/launched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "space/test_kernel.h"

namespace assay {
namespace {

using testing::ElementsAre;

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
