#include "compile/compile_process.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "temp_folder.h"

namespace assay {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

TEST(MemoryShareTest, EachCompileHasAnEqualShareAndNoLessThanItNeeds) {
  EXPECT_EQ(compile_memory_bytes(64 * kGiB, 16), 3 * kGiB);
  EXPECT_EQ(compile_memory_bytes(64 * kGiB, 1), 48 * kGiB);
  EXPECT_EQ(compile_memory_bytes(64 * kGiB, 256), kGiB);
}

TEST(MemoryShareTest, AContainerMayHaveLessThanTheMachine) {
  const TempFolder cgroup;
  const std::uint64_t machine_bytes = machine_memory_bytes(cgroup.path());
  EXPECT_GT(machine_bytes, 1u << 20);
  for (const char* name : {"memory.max", "memory/memory.limit_in_bytes"}) {
    const std::filesystem::path file = cgroup.path() / name;
    std::filesystem::create_directories(file.parent_path());
    write_file_atomic(file, "1048576\n");
    EXPECT_EQ(machine_memory_bytes(cgroup.path()), 1u << 20) << name;
    for (const char* none : {"max\n", "9223372036854771712\n", ""}) {
      write_file_atomic(file, none);
      EXPECT_EQ(machine_memory_bytes(cgroup.path()), machine_bytes) << name << none;
    }
  }
}

}  // namespace
}  // namespace assay
