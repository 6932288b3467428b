#include "device/gpu_workers.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>

#include "matchers.h"
#include "processes.h"
#include "scoped_variable.h"
#include "temp_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// All may write to the folder: whoever made a link there chose a file of this user's to open. It
// then ended every sweep, and goes on without turns now.
TEST(GpuTurns, FollowNoLink) {
  const TempFolder folder;
  const test::ScopedVariable temporary("TMPDIR", folder.path().string());
  const fs::path target = folder.path() / "target";
  fs::create_symlink(target, folder.path() / "assay-turn-U.lock");
  testing::internal::CaptureStderr();
  GpuTurns planted("U");
  planted.wait();
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("sweeps of other processes on this GPU are not waited for"));
  EXPECT_FALSE(fs::exists(target));
  GpuTurns turns("V");
  turns.wait();
}

// Where umask is 077, the file that the first user left could be opened by nobody else.
TEST(GpuTurns, AnyUserMayOpenTheLock) {
  const TempFolder folder;
  const test::ScopedVariable temporary("TMPDIR", folder.path().string());
  const mode_t before = ::umask(077);
  const GpuTurns turns("U");
  ::umask(before);
  EXPECT_EQ(fs::status(folder.path() / "assay-turn-U.lock").permissions(), fs::perms(0666));
}

// It waited without a word.
TEST(GpuTurns, WhoWaitsSaysForWhom) {
  const TempFolder folder;
  const test::ScopedVariable temporary("TMPDIR", folder.path().string());
  GpuTurns turns("U");
  const Pipe pipe;
  std::unique_ptr<GpuTurns::Turn> turn(new GpuTurns::Turn(turns.wait()));
  const pid_t waiter = start_process([&] {
    ::dup2(pipe.write_end.get(), STDERR_FILENO);
    GpuTurns("U").wait();
    return 0;
  });
  std::array<char, 500> said{};
  EXPECT_GT(::read(pipe.read_end.get(), said.data(), said.size() - 1), 0);
  EXPECT_THAT(said.data(), HasSubstr(fmt::format("waiting for the GPU: process {} (", ::getpid())));
  turn.reset();
  EXPECT_EQ(wait_for(waiter), 0);
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
