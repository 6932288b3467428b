#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/file.h"

namespace assay {
namespace {

constexpr double kLong = 60;

/// A child that does nothing until it is killed.
pid_t sleeper() {
  const pid_t pid = ::fork();
  while (pid == 0) ::pause();
  return pid;
}

TEST(ChildProcess, ItsEndIsDescribedAsOftenAsAsked) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(3);
  const ChildProcess child(pid);
  EXPECT_EQ(child.end(kLong), "exit code 3");
  EXPECT_EQ(child.end(0), "exit code 3");
}

TEST(ChildProcess, WhileItRunsThereIsNoEnd) {
  const ChildProcess child(sleeper());
  EXPECT_EQ(child.end(0), std::nullopt);
  child.kill();
  EXPECT_EQ(child.end(kLong), "signal 9 (Killed)");
}

TEST(ChildProcess, ItsUsageIsWhatItDoes) {
  const ChildProcess idle(sleeper());
  const pid_t pid = ::fork();
  for (volatile int i = 0; pid == 0;) i = 1 - i;
  const ChildProcess busy(pid);
  double cpu_s = 0;
  for (int i = 0; i < 6000 && cpu_s < 0.05; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    cpu_s = busy.usage().value().cpu_s;
  }
  EXPECT_GE(cpu_s, 0.05);
  EXPECT_FALSE(busy.usage()->waiting);
  EXPECT_TRUE(idle.usage().value().waiting);
  EXPECT_LT(idle.usage()->cpu_s, 0.05);
  EXPECT_GT(idle.usage()->memory_bytes, 1u << 16);
}

// kill() may come from another thread after the end. It would hit a stranger if the process's id
// were free by then.
TEST(ChildProcess, TheIdStaysTakenUntilTheDestructor) {
  pid_t pid = -1;
  {
    const ChildProcess child(pid = sleeper());
    child.kill();
    EXPECT_TRUE(child.end(kLong));
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1) << "a zombie is left";
}

TEST(ChildProcess, TheDestructorKillsAndReaps) {
  pid_t pid = -1;
  { const ChildProcess child(pid = sleeper()); }
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
}

TEST(PollUntil, ReturnsAtTheDeadlineOrWhenSomethingIsReady) {
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  pollfd wait{read_end.get(), POLLIN, 0};
  EXPECT_EQ(poll_until({&wait, 1}, deadline_after(0)), 0);
  EXPECT_EQ(poll_until({&wait, 1}, deadline_after(-1)), 0);
  ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
  EXPECT_EQ(poll_until({&wait, 1}, std::chrono::steady_clock::time_point::max()), 1);
  EXPECT_EQ(poll_until({&wait, 1}, deadline_after(-1)), 1);
}

}  // namespace
}  // namespace assay
