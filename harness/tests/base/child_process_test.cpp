#include "base/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "processes.h"

namespace assay {
namespace {

constexpr double kLong = 60;

/// A child that does nothing until it is killed.
pid_t sleeper() {
  return start_process([]() -> int {
    for (;;) ::pause();
  });
}

TEST(ChildProcess, ItsEndIsDescribedAsOftenAsAsked) {
  const ChildProcess child(start_process([] { return 7; }));
  EXPECT_EQ(child.end(kLong)->text, "exit code 7");
  EXPECT_EQ(child.end(0)->text, "exit code 7");
  EXPECT_FALSE(child.end(0)->killed);
}

// A compiler that had no folder to work in was stored as a kernel that cannot be compiled.
TEST(ChildProcess, AnEndThatIsTheMachinesCountsAsKilled) {
  EXPECT_TRUE(ChildProcess(start_process([] { return kExitMachine; })).end(kLong)->killed);
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

// Ctrl-Z, or a paused container: the clock goes on, the work does not.
TEST(ChildProcess, PollDoesNotCountTheTimeInWhichTheChildIsStopped) {
  const pid_t pid = sleeper();
  const ChildProcess child(pid);
  const Pipe pipe;
  ::kill(pid, SIGSTOP);
  while (!child.usage().value().stopped) std::this_thread::yield();
  // Ten times the patience after the stop the child says something.
  std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_TRUE(pipe.say('x'));
  });
  std::array<pollfd, 1> waits = {pollfd{pipe.read_end.get(), POLLIN, 0}};
  double left_s = 0.05;
  EXPECT_EQ(child.poll(waits, left_s), 1) << "gave up on a stopped child";
  ::kill(pid, SIGCONT);
  EXPECT_EQ(child.poll({}, left_s), 0);
}

TEST(ChildProcess, APartOfAWaitCountsNoMoreThanItWasToLast) {
  EXPECT_EQ(counted_s(0.02, 0.1, false), 0.02);
  EXPECT_EQ(counted_s(3600, 0.1, false), 0.1);  // this process was stopped, or the machine slept
  EXPECT_EQ(counted_s(0.1, 0.1, true), 0);
}

TEST(ChildProcess, PollReturnsWhatIsReady) {
  const ChildProcess child(sleeper());
  const Pipe pipe;
  std::array<pollfd, 1> waits = {pollfd{pipe.read_end.get(), POLLIN, 0}};
  double left_s = 0;
  EXPECT_EQ(child.poll(waits, left_s), 0);
  ASSERT_TRUE(pipe.say('x'));
  EXPECT_EQ(child.poll(waits, left_s), 1);
}

TEST(ChildProcess, ItsUsageIsWhatItDoes) {
  const ChildProcess idle(sleeper());
  const ChildProcess busy(start_process([]() -> int {
    for (volatile int i = 0;;) i = 1 - i;
  }));
  for (int i = 0; i < 6000 && busy.usage().value().cpu_s == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(busy.usage()->cpu_s, idle.usage().value().cpu_s);
  EXPECT_FALSE(busy.usage()->waiting);
  EXPECT_TRUE(idle.usage()->waiting);
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
  const Pipe pipe;
  pollfd wait{pipe.read_end.get(), POLLIN, 0};
  EXPECT_EQ(poll_until({&wait, 1}, deadline_after(0)), 0);
  EXPECT_EQ(poll_until({&wait, 1}, deadline_after(-1)), 0);
  ASSERT_TRUE(pipe.say('x'));
  EXPECT_EQ(poll_until({&wait, 1}, std::chrono::steady_clock::time_point::max()), 1);
  EXPECT_EQ(poll_until({&wait, 1}, deadline_after(-1)), 1);
}

}  // namespace
}  // namespace assay
