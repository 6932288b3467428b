#include "base/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "base/error.h"

namespace assay {
namespace {

// A signal handler can reach only globals. These are the only ones in the program.
std::atomic<bool> g_interrupted{false};
std::atomic<int> g_read_end{-1};
std::atomic<int> g_write_end{-1};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a handler must not wait for a lock that the interrupted thread holds");

void set_action(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // Calls that cannot be interrupted (SQLite's, NVRTC's) go on. Whoever waits polls interrupt_fd().
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  // A terminal that is closed ends the program as Ctrl-C does, unless nohup has it ignore that.
  struct sigaction of_hangup = {};
  ::sigaction(SIGHUP, nullptr, &of_hangup);
  if (of_hangup.sa_handler != SIG_IGN) ::sigaction(SIGHUP, &action, nullptr);
}

void handle_signal(int) {
  const int saved_errno = errno;
  set_action(SIG_DFL);  // so that a second signal ends the process
  g_interrupted = true;
  const char byte = 0;
  [[maybe_unused]] const ssize_t count = ::write(g_write_end, &byte, 1);
  errno = saved_errno;
}

}  // namespace

void catch_interrupts() {
  if (g_read_end < 0) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      throw Error("cannot open a pipe: " + std::generic_category().message(errno));
    }
    g_write_end = ends[1];
    g_read_end = ends[0];
  }
  set_action(handle_signal);
}

bool interrupted() { return g_interrupted; }

void check_interrupt() {
  if (interrupted()) throw Interrupted();
}

int interrupt_fd() { return g_read_end; }

}  // namespace assay
