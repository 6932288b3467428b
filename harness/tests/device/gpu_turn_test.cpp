#include "device/gpu_turn.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "device/fixtures.h"
#include "temp_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// All may write to the folder: whoever made a link there chose a file of this user's to open.
TEST(GpuTurns, FollowNoLink) {
  const TempFolder folder;
  const test::ScopedVariable temporary("TMPDIR", folder.path().string());
  const fs::path target = folder.path() / "target";
  fs::create_symlink(target, folder.path() / "assay-turn-U.lock");
  EXPECT_THROW(GpuTurns("U"), Error);
  EXPECT_FALSE(fs::exists(target));
  const GpuTurns turns("V");
  turns.wait();
}

// A TMPDIR that is not there ended a sweep with the library's words.
TEST(GpuTurns, NeedNoTmpdir) {
  const test::ScopedVariable temporary("TMPDIR", "/nowhere");
  const std::string uuid = "test-" + std::to_string(::getpid());
  const GpuTurns turns(uuid);
  EXPECT_EQ(::unlink(("/tmp/assay-turn-" + uuid + ".lock").c_str()), 0);
}

}  // namespace
}  // namespace assay
