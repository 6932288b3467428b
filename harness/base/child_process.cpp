#include "base/child_process.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace assay {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::string describe_end(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return fmt::format("signal {} ({})", number, ::strsignal(number));
  }
  return fmt::format("exit code {}", WEXITSTATUS(wait_status));
}

bool reap(pid_t pid, double patience_s, int& wait_status) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(patience_s));
  for (;;) {
    const pid_t ended = ::waitpid(pid, &wait_status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace assay
