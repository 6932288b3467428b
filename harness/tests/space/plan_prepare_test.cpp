// Launches that lay out inputs ahead of what is timed.
#include <gmock/gmock.h>

#include "space/launched.h"
#include "space/plan.h"
#include "temp_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;

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
