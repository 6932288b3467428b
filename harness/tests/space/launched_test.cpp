#include "space/launched.h"

#include "space/plan.h"
#include "space/test_kernel.h"
#include "temp_folder.h"

#include "matchers.h"

namespace assay {
namespace {

using testing::Pair;

/// A kernel with a second launch that is skipped where `when` is 0.
KernelSpec two_launches(const std::string& when) {
  TestKernel kernel({"N"});
  kernel.param("SPLIT", {1, 4}).param("T", {"half", "float"}).let("large", "N > 100");
  kernel.spec.launches = {kernel.launch("main<T>"), kernel.launch("add<SPLIT>"),
                          kernel.launch("main<T>")};
  kernel.spec.launches[1].when = kernel.expr(when);
  return kernel.spec;
}

std::vector<std::string> entries(const std::string& when, std::int64_t split) {
  return launched_entries(two_launches(when), {{"SPLIT", split}, {"T", "half"}}, test_device());
}

TEST(LaunchedEntries, LackWhatNoProblemLaunches) {
  EXPECT_THAT(entries("SPLIT > 1", 1), ElementsAre("main<half>"));
  EXPECT_THAT(entries("device.cc < 80", 4), ElementsAre("main<half>"));
  for (const char* when : {"N > 4", "SPLIT > 1 || large", "SPLIT > 1 && N > 4"}) {
    EXPECT_THAT(entries(when, 1), ElementsAre("main<half>", "add<1>")) << when;
  }
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

// Launches that lay out inputs ahead of what is timed.
KernelSpec kernel_with(const std::string& args, const std::string& grid = "[cdiv(N, SIZE)]") {
  const TempFolder folder;
  folder.write("mul.cu", "");
  return load_kernel(folder.write(
      "mul.yaml",
      "kernel: mul\nop: mul\narch: [80]\ndims: [N]\nparams: {SIZE: [16, 32], MODE: [0, 1]}\nargs:\n"
      "  - {name: x, dtype: f32, shape: [N], role: in}\n"
      "  - {name: tiles, dtype: f16, shape: [cdiv(N, SIZE), SIZE], role: prepared}\n"
      "  - {name: y, dtype: f32, shape: [N], role: out}\n"
      "prepare:\n  - {entry: \"lay_out<SIZE>\", grid: " +
          grid + ", block: [32], args: [" + args +
          "]}\n  - {entry: finish, when: MODE == 1, grid: [1], block: [32], args: [tiles]}\n"
          "launches: [{grid: [1], block: [SIZE], args: [tiles, y]}]\n"
          "work: {flops: 0, bytes: 0}\nreference: [{relu: {x: x, out: y}}]\nsmoke: {N: 100}\n"));
}

const Config kMode0 = {{"SIZE", std::int64_t{16}}, {"MODE", std::int64_t{0}}};
const Config kMode1 = {{"SIZE", std::int64_t{16}}, {"MODE", std::int64_t{1}}};

TEST(Prepare, ItsLaunchesArePlannedApart) {
  const KernelSpec kernel = kernel_with("x, tiles, {dtype: i32, value: N + 1}");
  const Plan plan = make_plan(kernel, kernel.smoke, kMode0, nominal_device("80"));
  EXPECT_EQ(plan.launches.size(), 1u);
  EXPECT_THAT(plan.launches[0].args, ElementsAre(1, 2));
  ASSERT_EQ(plan.prepare.size(), 1u);
  EXPECT_EQ(plan.prepare[0].entry, "lay_out<16>");
  EXPECT_EQ(plan.prepare[0].grid[0], 7);
  EXPECT_THAT(plan.prepare[0].args, ElementsAre(0, 1, 3));
  EXPECT_EQ(std::get<ScalarPlan>(plan.args.at(3)).value, Number(std::int64_t{101}));
  EXPECT_EQ(plan.prepared_bytes(), 2 * 7 * 16);
  EXPECT_EQ(make_plan(kernel, kernel.smoke, kMode1, nominal_device("80")).prepare.size(), 2u);
}

// Once the weights are laid out, nobody needs them as they were.
TEST(Prepare, WhatItReadsIsNoMemoryOfTheLaunches) {
  const KernelSpec kernel = kernel_with("x, tiles");
  const Plan plan = make_plan(kernel, kernel.smoke, kMode0, nominal_device("80"));
  EXPECT_EQ(memory_bytes(plan), plan.prepared_bytes() + 4 * 100);
}

TEST(Prepare, ItsEntriesAreCompiled) {
  const KernelSpec kernel = kernel_with("x, tiles");
  const DeviceInfo device = nominal_device("80");
  EXPECT_THAT(launched_entries(kernel, kMode0, device), ElementsAre("mul", "lay_out<16>"));
  EXPECT_THAT(launched_entries(kernel, kMode1, device),
              ElementsAre("mul", "lay_out<16>", "finish"));
  EXPECT_THAT(macros_of(kernel, kMode1), ElementsAre(kMode1[1]));  // SIZE stands in an entry
}

TEST(Prepare, IsAPartOfWhatATrialMeans) {
  const std::string hash = kernel_with("x, tiles").contract_hash;
  EXPECT_NE(kernel_with("tiles, x").contract_hash, hash);
  EXPECT_NE(kernel_with("x, tiles", "[1]").contract_hash, hash);
  EXPECT_EQ(kernel_with("x, tiles", "[cdiv(N,SIZE)]").contract_hash, hash);
}

}  // namespace
}  // namespace assay
