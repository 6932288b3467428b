#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// A child process. The destructor kills and reaps it.
class ChildProcess {
 public:
  /// Takes over a process that fork or posix_spawn has started.
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  /// Waits for the end at most five seconds, or 0.3 after Ctrl-C. What is slower is left to init.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Kills it and does not wait for its end. May be called from any thread: the process's id stays
  /// taken until the destructor, so that no other process is hit.
  void kill() const noexcept;
  struct End {
    std::string text;  // "signal 11 (Segmentation fault)", "exit code 3"
    /// From outside: by the system when memory was short, or by somebody; or it ended itself
    /// because the machine failed it (kExitMachine).
    bool killed = false;
  };
  /// Waits at most `patience_s` for its end. Nothing while it still runs.
  std::optional<End> end(double patience_s) const;
  /// poll() that goes on after a signal. Returns how many are ready, 0 after `left_s`, or -1 on an
  /// error. Takes off `left_s` what it waited, but not the time in which this process or the child
  /// was stopped (Ctrl-Z, a paused container, a sleeping machine).
  int poll(std::span<pollfd> waits, double& left_s) const;

  /// What the system says of the process at one moment.
  struct Usage {
    bool waiting = false;  // for something else than a processor: a disk, a lock, a message
    bool stopped = false;  // by a signal, or a debugger
    double cpu_s = 0;
    std::uint64_t memory_bytes = 0;  // in use, not only reserved
  };
  /// Nothing where there is no such process, or the system does not say.
  std::optional<Usage> usage() const;

 private:
  pid_t pid_;
};

/// The fields of /proc/PID/stat from the third, the state, on; none where there is no such process.
std::vector<std::string> process_stat(std::int64_t pid);

/// poll() that goes on after a signal. Returns how many are ready, 0 at the deadline, or -1 on an
/// error. With time_point::max() there is no deadline.
int poll_until(std::span<pollfd> waits, std::chrono::steady_clock::time_point deadline);

/// What a part of a wait counts: no more than the part was to last, for more passes only while this
/// process does not run, and nothing while the child is stopped.
double counted_s(double passed_s, double part_s, bool child_is_stopped);

/// The time `seconds` from now.
std::chrono::steady_clock::time_point deadline_after(double seconds);

/// Starts a program with `words` for its arguments, beginning with the program's name. Its standard
/// input is empty. Each descriptor `first` becomes the program's `second`; higher descriptors are
/// closed. The program is a process group of its own, so that Ctrl-C in a terminal reaches only
/// this process, which decides. Throws Error "cannot start WHAT: ...".
pid_t spawn(std::string_view what, const std::filesystem::path& program,
            std::vector<std::string> words, std::span<const std::pair<int, int>> descriptors);

}  // namespace assay
