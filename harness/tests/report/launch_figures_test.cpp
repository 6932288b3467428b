#include "report/launch_figures.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

Plan plan_of(std::initializer_list<const char*> entries) {
  Plan plan;
  for (const char* entry : entries) {
    LaunchPlan& launch = plan.launches.emplace_back();
    launch.entry = entry;
    launch.block = {1024, 1, 1};
    launch.smem_bytes = 512;
  }
  return plan;
}

// Of a kernel with two entries each was judged by the registers of the larger one: "blocks an SM:
// 0" of a kernel that runs.
TEST(LaunchFigures, AreOfEachEntrysOwnRegistersAndSharedMemory) {
  const CompiledEntries entries{{{"_Zmain", {1024 + 4096, 0, 64}}, {"sum", {0, 0, 32}}},
                                {{"main<8>", "_Zmain"}}};
  const auto launches = launch_figures(plan_of({"main<8>", "sum"}), 90, entries, std::nullopt);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].registers, 64);
  EXPECT_EQ(launches[0].smem_bytes, 4096 + 512);
  EXPECT_EQ(launches[0].occupancy->blocks, 1);
  EXPECT_EQ(launches[1].registers, 32);
  EXPECT_EQ(launches[1].smem_bytes, 512);
  EXPECT_EQ(launches[1].occupancy->blocks, 2);
}

TEST(LaunchFigures, WithoutMachineCodeAreKnownOfALoneEntryOnly) {
  CompileReport report;
  report.registers = 64;
  const auto alone = launch_figures(plan_of({"main", "main"}), 90, {}, report);
  EXPECT_EQ(alone[1].occupancy->blocks, 1);
  const auto two = launch_figures(plan_of({"main", "sum"}), 90, {}, report);
  EXPECT_FALSE(two[1].occupancy);
  EXPECT_FALSE(launch_figures(plan_of({"main"}), 90, {}, std::nullopt)[0].occupancy);
}

CompiledConfig config(const std::string& kernel, int registers, int spill_bytes, int smem_bytes,
                      std::optional<double> blocks_per_sm) {
  CompiledConfig made{kernel, {}, smem_bytes, blocks_per_sm};
  made.compile.registers = registers;
  made.compile.spill_bytes = spill_bytes;
  return made;
}

TEST(CompiledText, SaysBetweenWhatTheConfigurationsOfAKernelLie) {
  EXPECT_EQ(
      compiled_text({config("b", 168, 0, 1024, 3), config("a", 32, 0, 0, {}),
                     config("b", 255, 96, 65536, 1), config("b", 90, 8, 2048, 4)},
                    {}),
      "kernel  configurations  registers  with spills  most spilled  shared memory of a block  "
      "blocks an SM\n"
      "--------------------------------------------------------------------------------------"
      "--------------\n"
      "b                    3  90 .. 255            2          96 B       1.0 KiB .. 64.0 KiB  "
      "      1 .. 4\n"
      "a                    1         32            0             -                       0 B  "
      "           -\n");
}

}  // namespace
}  // namespace assay
