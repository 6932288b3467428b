#include "base/file.h"
#include "base/find_named.h"
#include "matchers.h"
#include "message_of.h"
#include "spec/spec_files.h"
#include "spec/sweep_spec.h"
#include "temp_folder.h"

namespace assay {
namespace {

SweepSpec load(const std::string& name) {
  return load_sweep(spec_tests() / "good" / (name + ".yaml"), spec_tests() / "kernels");
}

std::vector<std::string> texts(const std::vector<Problem>& problems) {
  std::vector<std::string> all;
  for (const Problem& problem : problems) all.push_back(to_text(problem));
  return all;
}

std::vector<Value> values(const KernelSpec& kernel, std::string_view param) {
  return find_named(kernel.params, param)->values;
}

TEST(LoadSweep, ListsExpandWithTheFirstDimSlowest) {
  EXPECT_THAT(texts(load("gemm_h200").problems),
              ElementsAre("M=1,N=4096,K=4096,BATCH=1", "M=1,N=4096,K=8192,BATCH=1",
                          "M=16,N=4096,K=4096,BATCH=1", "M=16,N=4096,K=8192,BATCH=1",
                          "M=64,N=4096,K=4096,BATCH=1", "M=64,N=4096,K=8192,BATCH=1",
                          "M=4096,N=4096,K=4096,BATCH=2"));
}

TEST(LoadSweep, NarrowsEachKernelInItsOwnOrder) {
  const SweepSpec sweep = load("gemm_h200");
  ASSERT_EQ(sweep.kernels.size(), 2u);
  EXPECT_THAT(values(sweep.kernels[0], "STAGES"), ElementsAre(Value(3), Value(4)));
  EXPECT_THAT(values(sweep.kernels[1], "STAGES"), ElementsAre(Value(3)));  // it has no 4
  EXPECT_EQ(values(sweep.kernels[0], "BLOCK_M").size(), 3u);               // not narrowed
}

TEST(LoadSweep, ConstraintsGoToTheKernelsThatKnowTheirNames) {
  const SweepSpec sweep = load("gemm_h200");
  const auto& mma = sweep.kernels[0].constraints;
  ASSERT_EQ(mma.size(), 5u);
  EXPECT_EQ(mma[3].expr.text(), "BLOCK_M * BLOCK_N <= 32768");
  EXPECT_EQ(mma[4].expr.text(), "STAGES <= 3 || M > 1");
  const auto& small = sweep.kernels[1].constraints;
  ASSERT_EQ(small.size(), 1u);
  // Slots are those of the kernel, not of the sweep.
  const Symbols& symbols = sweep.kernels[1].symbols;
  EXPECT_THAT(small[0].expr.slots(), ElementsAre(symbols.find("M"), symbols.find("STAGES")));
}

TEST(LoadSweep, NarrowingKeepsTheContract) {
  const KernelSpec whole = load_kernel(spec_tests() / "kernels/gemm_mma.yaml");
  EXPECT_EQ(load("gemm_h200").kernels[0].contract_hash, whole.contract_hash);
}

TEST(LoadSweep, ReadsSearchMeasureAndRerank) {
  const SweepSpec sweep = load("gemm_h200");
  EXPECT_EQ(sweep.name, "gemm_h200");
  EXPECT_EQ(sweep.search.strategy, Strategy::random);
  EXPECT_EQ(sweep.search.seed, 18446744073u);
  EXPECT_EQ(sweep.search.budget_configs, 500);
  EXPECT_EQ(sweep.search.budget_seconds, 600);
  EXPECT_DOUBLE_EQ(sweep.search.budget_until_ratio.value(), 0.02);
  EXPECT_EQ(sweep.measure.protocol, "cold");
  EXPECT_DOUBLE_EQ(sweep.measure.precision_ratio, 0.005);
  EXPECT_DOUBLE_EQ(sweep.measure.max_seconds_per_config, 2.5);
  EXPECT_THAT(sweep.measure.counters, ElementsAre("issue_busy", "dram_read", "dram_write",
                                                  "l2_hits", "l2_to_sm", "l2_atomic_cycles"));
  EXPECT_EQ(sweep.rerank.top, 4);
  EXPECT_EQ(sweep.rerank.rounds, 15);
  EXPECT_DOUBLE_EQ(sweep.rerank.precision_ratio, 0.001);
  EXPECT_EQ(sweep.rerank.objective, Objective::edp);
}

TEST(LoadSweep, WhatIsNotSaidHasDefaults) {
  const SweepSpec sweep = load("defaults");
  EXPECT_EQ(sweep.search.strategy, Strategy::automatic);
  EXPECT_FALSE(sweep.search.budget_configs);
  EXPECT_FALSE(sweep.search.budget_seconds);
  EXPECT_FALSE(sweep.search.budget_until_ratio);
  EXPECT_EQ(sweep.measure.protocol, "cold");
  EXPECT_DOUBLE_EQ(sweep.measure.precision_ratio, 0.005);
  EXPECT_THAT(sweep.measure.counters, IsEmpty());
  EXPECT_EQ(sweep.rerank.top, 8);
  EXPECT_EQ(sweep.rerank.rounds, 30);
  EXPECT_EQ(sweep.rerank.objective, Objective::time);
}

TEST(LoadSweep, AKernelRunsItsSmokeProblemOverItsWholeSpace) {
  const auto path = spec_tests() / "kernels/gemm_mma.yaml";
  const SweepSpec sweep = load_sweep(path, "no/such/folder");  // its own folder is what counts
  EXPECT_EQ(sweep.name, "gemm_mma");
  EXPECT_EQ(sweep.yaml_path, path);
  EXPECT_THAT(texts(sweep.problems), ElementsAre("M=256,N=384,K=128"));
  ASSERT_EQ(sweep.kernels.size(), 1u);
  EXPECT_EQ(values(sweep.kernels[0], "STAGES").size(), 4u);
}

TEST(LoadSweep, ErrorsInAKernelNameTheKernelsFile) {
  const TempFolder folder;
  folder.write("broken.yaml", "kernel: broken\nop: x\n");
  const auto path = folder.write("sweep.yaml", "sweep: s\nkernels: [broken]\nproblems: [{M: 1}]\n");
  EXPECT_THAT([&] { load_sweep(path, folder.path()); },
              ThrowsMessage<SpecError>(HasSubstr("broken.yaml:1:1: expected the key")));
}

// A sweep that does not lie beside the folder of kernels was only told that its kernel is not
// there.
TEST(LoadSweep, AFolderOfKernelsThatIsNotThereIsSaidToBeMissing) {
  const TempFolder folder;
  const auto message = [](const std::filesystem::path& kernels) -> std::string {
    return message_of<SpecError>([&] { load_sweep(spec_tests() / "good/defaults.yaml", kernels); });
  };
  EXPECT_THAT(message(folder.path()), HasSubstr("found \"add_chain\"\n"));
  EXPECT_THAT(message(folder.path() / "none"),
              HasSubstr("/none, found \"add_chain\"; there is no such folder: --kernels "
                        "names another\n"));
}

TEST(IsKernelFile, TellsTheTwoKindsApart) {
  EXPECT_TRUE(is_kernel_file(spec_tests() / "kernels/gemm_mma.yaml"));
  EXPECT_FALSE(is_kernel_file(spec_tests() / "good/gemm_h200.yaml"));
  const TempFolder folder;
  EXPECT_TRUE(is_kernel_file(folder.write("x.yaml", "# comment\n---\nop: x\nkernel: x\n")));
  EXPECT_FALSE(is_kernel_file(folder.write("x.yaml", "[kernel]\n")));
  EXPECT_THROW(is_kernel_file(folder.write("x.yaml", "")), SpecError);
  EXPECT_THROW(is_kernel_file(folder.path() / "missing.yaml"), UsageError);
}

TEST(LoadSweep, LoadsEverySweepOfTheProject) {
  const std::filesystem::path root = ASSAY_SOURCE_DIR;
  int loaded = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "sweeps")) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NO_THROW(load_sweep(entry.path(), root / "kernels")) << entry.path();
    ++loaded;
  }
  EXPECT_GT(loaded, 0);
}

}  // namespace
}  // namespace assay
