#include "base/interrupt.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "processes.h"

namespace assay {
namespace {

bool readable(int fd, int timeout_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, timeout_ms) == 1;
}

/// Runs `body` in a process of its own, which signals may kill; returns how it ended.
int outcome_of(const std::function<int()>& body) { return wait_for(start_process(body)); }

TEST(InterruptTest, NothingArrivesUnasked) {
  EXPECT_EQ(interrupt_fd(), -1);
  EXPECT_EQ(outcome_of([] {
              catch_interrupts();
              return interrupted() || readable(interrupt_fd(), 0) ? 1 : 0;
            }),
            0);
}

TEST(InterruptTest, TheFirstSignalSetsTheFlagAndTheDescriptor) {
  // A closed terminal once ended a sweep without a word, and twice so a trial for good.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(outcome_of([number] {
                ::signal(SIGHUP, SIG_DFL);
                catch_interrupts();
                ::raise(number);
                return interrupted() && readable(interrupt_fd(), 0) ? 0 : 1;
              }),
              0);
  }
}

TEST(InterruptTest, UnderNohupAHangupIsNone) {
  EXPECT_EQ(outcome_of([] {
              ::signal(SIGHUP, SIG_IGN);
              catch_interrupts();
              ::raise(SIGHUP);
              return interrupted() ? 1 : 0;
            }),
            0);
}

TEST(InterruptTest, AWaitingPollWakes) {
  EXPECT_EQ(outcome_of([] {
              catch_interrupts();
              const pid_t parent = ::getpid();
              if (::fork() == 0) {
                ::usleep(20000);
                ::kill(parent, SIGINT);
                ::_exit(0);
              }
              // The first poll may end with EINTR. The descriptor is readable either way.
              readable(interrupt_fd(), 60000);
              return readable(interrupt_fd(), 0) ? 0 : 1;
            }),
            0);
}

TEST(InterruptTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EQ(outcome_of([] {
              catch_interrupts();
              ::raise(SIGINT);
              ::raise(SIGTERM);
              return 0;
            }),
            -SIGTERM);
}

}  // namespace
}  // namespace assay
