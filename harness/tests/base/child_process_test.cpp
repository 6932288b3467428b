#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/elapsed.h"
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
  EXPECT_EQ(child.end(kLong)->text, "exit code 3");
  EXPECT_EQ(child.end(0)->text, "exit code 3");
  EXPECT_FALSE(child.end(0)->killed);
}

TEST(ChildProcess, WhileItRunsThereIsNoEnd) {
  const ChildProcess child(sleeper());
  EXPECT_FALSE(child.end(0));
  child.kill();
  EXPECT_EQ(child.end(kLong)->text, "signal 9 (Killed)");
}

TEST(ChildProcess, ASignalThatNoFaultRaisesKilledIt) {
  // A sanitizer's handlers, which a child inherits, would turn a fault into an exit.
  for (const int fault : {SIGSEGV, SIGABRT, SIGBUS}) ::signal(fault, SIG_DFL);
  for (const auto& [signal_number, killed] :
       {std::pair{SIGKILL, true}, std::pair{SIGTERM, true}, std::pair{SIGHUP, true},
        std::pair{SIGSEGV, false}, std::pair{SIGABRT, false}, std::pair{SIGBUS, false}}) {
    const pid_t pid = sleeper();
    const ChildProcess child(pid);
    ::kill(pid, signal_number);
    EXPECT_EQ(child.end(kLong)->killed, killed) << signal_number;
  }
}

/// How long poll() waits on a child for nothing.
double seconds_of_poll(const ChildProcess& child, double patience_s) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(child.poll({}, patience_s), 0);
  return seconds_since(start);
}

// Ctrl-Z, or a paused container: the clock goes on, the work does not.
TEST(ChildProcess, PollDoesNotCountTheTimeInWhichTheChildIsStopped) {
  const pid_t pid = sleeper();
  const ChildProcess child(pid);
  EXPECT_LT(seconds_of_poll(child, 0.2), 0.8);
  ::kill(pid, SIGSTOP);
  std::thread waker([pid] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ::kill(pid, SIGCONT);
  });
  EXPECT_GT(seconds_of_poll(child, 0.3), 1.1);
  waker.join();
}

TEST(ChildProcess, PollDoesNotCountTheTimeInWhichItsOwnProcessIsStopped) {
  const pid_t waiting = ::fork();
  if (waiting == 0) {
    const double waited_s = seconds_of_poll(ChildProcess(sleeper()), 0.5);
    ::_exit(waited_s > 1.2 ? 0 : 1);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ::kill(waiting, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ::kill(waiting, SIGCONT);
  int status = 0;
  ASSERT_EQ(::waitpid(waiting, &status, 0), waiting);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ChildProcess, PollReturnsWhatIsReady) {
  const ChildProcess child(sleeper());
  std::array<int, 2> ends;
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  std::array<pollfd, 1> waits = {pollfd{read_end.get(), POLLIN, 0}};
  double left_s = 0;
  EXPECT_EQ(child.poll(waits, left_s), 0);
  ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
  EXPECT_EQ(child.poll(waits, left_s), 1);
}

TEST(ChildProcess, ItsUsageIsWhatItDoes) {
  const ChildProcess idle(sleeper());
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (volatile int i = 0;;) i = 1 - i;
  }
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
