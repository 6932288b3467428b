#include "report/launch_figures.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

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
