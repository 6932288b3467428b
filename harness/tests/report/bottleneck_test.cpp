// Kernels of one known bottleneck each: from figures such as they have follows the sentence that
// names it, and no other is named as the main one.

#include "matchers.h"
#include "report/example_figures.h"
#include "report/explain.h"

namespace assay {
namespace {

using namespace example;

using ::testing::Field;

TEST(Bottleneck, Memory) {
  Figures figures = plain();
  figures.memory_ns = 23124;
  figures.operations_ns = 20;
  figures.launches = {{"k", 136, 1024, Occupancy{1, "threads", 0.5}}};
  const Explanation said = explain(figures);
  EXPECT_EQ(said.main, "memory");
  EXPECT_EQ(said.headline,
            "memory-bound: 94 % of what this GPU reads; up to 6 % lost in the last wave (1.03 "
            "waves)");
  EXPECT_THAT(said.causes, named("last wave"));
  EXPECT_THAT(said.causes, Not(named("arithmetic")));  // a thousandth of the time
  EXPECT_THAT(said.behind, IsEmpty());
  EXPECT_THAT(said.missing, has_missing("assay profile 1"));
}

TEST(Bottleneck, TensorCores) {
  Figures figures = plain(172900);
  figures.operations_ns = 169200;
  figures.memory_ns = 21000;
  figures.on_tensor_cores = true;
  figures.launches = {{"k", 132, 384, Occupancy{1, "shared memory", 0.19}}};
  figures.findings->push_back({"copies", "4 TMA copies a turn of the main loop"});
  expect_explained(figures, "tensor cores",
                   StartsWith("tensor-bound: 98 % of what this GPU multiplies"));
  EXPECT_THAT(explain(figures).behind, IsEmpty());
  // What the GPU counts says the same where no ceiling is known.
  figures.operations_ns = figures.memory_ns = 0;
  count(figures, {{"tensor_busy", 91}});
  expect_explained(figures, "tensor cores",
                   StartsWith("tensor-bound: tensor cores work 91 % of the time"));
}

TEST(Bottleneck, Launches) {
  Figures figures = plain(2400);
  figures.memory_ns = 200;
  figures.launches_ns = 2100;
  figures.launches[0].blocks = 132 * 8;
  expect_explained(figures, "launches",
                   StartsWith("launch-bound: 88 % is the time of a launch that does nothing"));
}

TEST(Bottleneck, LastWave) {
  Figures figures = plain();
  figures.operations_ns = 12500;
  figures.on_tensor_cores = true;
  figures.launches = {{"k", 136, 384, Occupancy{1, "shared memory", 0.19}}};
  figures.findings->push_back({"copies", "4 TMA copies a turn of the main loop"});
  expect_explained(
      figures, "last wave",
      StartsWith("unevenly filled: up to 48 % lost in the last wave (1.03 waves); 51 % of"));
  // Blocks that all run at once are no even load either: four SMs have two.
  figures.launches[0].occupancy = Occupancy{2, "shared memory", 0.38};
  expect_explained(figures, "last wave", HasSubstr("some SMs have 2 blocks and others 1"));
}

TEST(Bottleneck, TooFewBlocks) {
  Figures figures = plain(197000);
  figures.operations_ns = 26400;
  figures.launches[0].blocks = 64;
  expect_explained(figures, "too few blocks",
                   StartsWith("too few blocks: up to 52 % lost since 68 of 132 SMs have no block"));
}

TEST(Bottleneck, OccupancyByRegistersAndBySharedMemory) {
  for (const std::string_view limit : {"registers", "shared memory"}) {
    Figures figures = plain();
    figures.memory_ns = 7000;
    figures.launches[0].occupancy = Occupancy{1, limit, 0.125};
    count_waits(figures, 80, 1, 1, 1, 5);
    const Explanation said = explain(figures);
    EXPECT_EQ(said.main, "waiting for memory");
    EXPECT_THAT(said.headline, AllOf(StartsWith("latency-bound: warps wait for L2 or memory 80 %"),
                                     HasSubstr("one explanation: low occupancy")));
    ASSERT_THAT(said.behind, named("low occupancy"));
    EXPECT_THAT(said.behind.front().text,
                HasSubstr("an SM has 1 block of 256 threads at once, 12 % of what it can hold"));
    EXPECT_THAT(said.behind.front().text, HasSubstr(std::string(limit)));
  }
}

TEST(Bottleneck, Spills) {
  Figures figures = plain();
  figures.memory_ns = 5000;
  figures.report->registers = 255;
  figures.report->spill_bytes = 640;
  count_waits(figures, 70, 1, 1, 1, 5);
  expect_explained(figures, "waiting for memory", HasSubstr("one explanation: spills"));
  // Without counters spills are a fact, and what they cost is not known.
  figures.counters.clear();
  expect_explained(figures, "",
                   AllOf(StartsWith("not known: 20 % of what this GPU reads"),
                         HasSubstr("80 % not explained; possible reason: spills")));
}

TEST(Bottleneck, Uncoalesced) {
  Figures figures = plain();
  figures.memory_ns = 5000;
  figures.findings->push_back(
      {"strided access", "ld.global.f32: along x, threads are 128 bytes apart and take 4 each"});
  count(figures, {{"dram_read", 390e6}, {"dram_write", 50e6}});
  expect_explained(
      figures, "extra traffic",
      AllOf(StartsWith("memory-bound, by more than must be moved: 89 % of what this GPU "
                       "reads, 4.4 times"),
            HasSubstr("one explanation: strided access")));
}

TEST(Bottleneck, DependentLoads) {
  Figures figures = plain();
  figures.memory_ns = 500;
  figures.findings->push_back({"dependent loads", "2 loads in a row"});
  figures.findings->push_back({"bank conflicts", "ld.shared.f32: up to 2 meet in one bank"});
  count_waits(figures, 88, 2, 0, 1, 5);
  const Explanation said = explain(figures);
  EXPECT_EQ(said.main, "waiting for memory");
  EXPECT_THAT(said.headline, HasSubstr("one explanation: dependent loads"));
  // What was counted says that the other costs nothing.
  ASSERT_THAT(said.harmless, ElementsAre(Field(&Cause::name, "bank conflicts")));
  EXPECT_THAT(said.harmless[0].text, HasSubstr("warps wait for shared memory 2 % of their time"));
}

TEST(Bottleneck, L2) {
  Figures figures = plain();
  figures.from_l2 = true;
  figures.memory_ns = 21000;
  expect_explained(figures, "L2", StartsWith("L2-bound: 85 % of what this GPU reads from L2"));
  // Cold, the counters tell: little comes from memory, and much from L2.
  figures.from_l2 = false;
  figures.memory_ns = 3000;
  figures.l2_bytes_per_s = 7e12;
  count(figures, {{"l2_to_sm", 150e6}, {"dram_read", 90e6}, {"dram_write", 10e6}});
  EXPECT_EQ(explain(figures).main, "L2");
}

// The winner of 4096 x 4096 x 4096 on an H200, as it was counted.
TEST(Bottleneck, TensorCoresThatL2Feeds) {
  Figures figures = plain(172000);
  figures.clock_mhz = 1646;
  figures.operations_ns = 170000;
  figures.memory_ns = 22250;
  figures.on_tensor_cores = true;
  figures.l2_bytes_per_s = 9.1e12;
  count(figures,
        {{"l2_to_sm", 1.61e9}, {"l1_busy", 60}, {"issue_busy", 13}, {"sm_cycles", 269000}});
  EXPECT_THAT(explain(figures).headline, StartsWith("tensor-bound: 99 %"));
}

TEST(Bottleneck, Instructions) {
  Figures figures = plain();
  figures.memory_ns = 9000;
  count(figures, {{"occupancy", 90}, {"issue_busy", 93}, {"stalled_memory", 3}});
  expect_explained(
      figures, "instructions",
      StartsWith("instruction-bound: an instruction is issued in 93 % of the places for one"));
}

TEST(Bottleneck, UnitsOfAnSm) {
  const std::pair<const char*, const char*> kUnits[] = {
      {"integer_busy", "bound by integers and logic: "},
      {"special_busy", "bound by special functions: "},
      {"shared_busy", "bound by shared memory: "},
      {"fma_busy", "compute-bound: "}};
  for (const auto& [counter, beginning] : kUnits) {
    Figures figures = plain();
    figures.memory_ns = 500;
    // Each takes places that issue, and shared memory is a part of L1.
    count(figures, {{"issue_busy", 95}, {counter, 92}});
    if (std::string_view(counter) == "shared_busy") count(figures, {{"l1_busy", 94}});
    EXPECT_THAT(explain(figures).headline, StartsWith(beginning));
    EXPECT_THAT(explain(figures).headline, HasSubstr("92 % of the time"));
  }
}

TEST(Bottleneck, SharedMemoryByConflicts) {
  Figures figures = plain();
  count(figures, {{"shared_busy", 97}, {"instructions", 1e6}, {"bank_conflicts", 8e6}});
  EXPECT_THAT(explain(figures).headline, AllOf(StartsWith("bound by shared memory: "),
                                               HasSubstr("one explanation: bank conflicts")));
}

TEST(Bottleneck, AtomicsOnOnePlace) {
  Figures figures = plain();  // of 45756 cycles
  figures.findings->push_back({"atomics", "8 on global memory"});
  count(figures, {{"l2_atomic_cycles", 40000}});
  EXPECT_THAT(explain(figures).headline,
              StartsWith("bound by atomics: a part of L2 begins an atomic operation in 87 %"));
  // On one address each waits for the one before, so that there are fewer.
  figures.counters.clear();
  count_waits(figures, 90, 1, 0, 1, 2);
  count(figures, {{"l2_atomic_cycles", 13000}});
  const Explanation said = explain(figures);
  EXPECT_THAT(said.headline,
              AllOf(StartsWith("bound by atomics: warps wait for L2 or memory 90 %"),
                    HasSubstr("in 28 % of all cycles"), HasSubstr("one explanation: atomics")));
  // That many wait for something else where there are few.
  figures.counters.back().value = 1300;
  EXPECT_THAT(explain(figures).headline, StartsWith("latency-bound: "));
}

// What is busy while SMs work is not busy while they do not.
TEST(Bottleneck, LastWaveOfSmsThatAreBusy) {
  Figures figures = plain();
  figures.launches = {{"k", 133, 1024, Occupancy{1, "shared memory", 0.5}}};
  count(figures, {{"fma_busy", 98}, {"issue_busy", 99}, {"sm_cycles", 23000}});
  const Explanation said = explain(figures);
  EXPECT_EQ(said.main, "last wave");
  EXPECT_THAT(said.headline,
              StartsWith("unevenly filled: up to 50 % lost in the last wave (1.01 waves)"));
  EXPECT_THAT(said.headline, HasSubstr("the units for multiply-adds work 49 % of the time"));
}

}  // namespace
}  // namespace assay
