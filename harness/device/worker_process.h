#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "device/frames.h"

namespace assay {

/// A child's end as waitpid reports it: "signal 11 (Segmentation fault)", "exit code 3".
std::string describe_end(int wait_status);

/// Waits at most `patience_s` for a child to end and reaps it. False when it still runs.
bool reap(pid_t pid, double patience_s, int& wait_status);

/// A worker process and the socket to it. Nothing here blocks for longer than it says, and every
/// wait ends at Ctrl-C.
class WorkerProcess {
 public:
  /// Starts `PROGRAM worker --fd N --device INDEX`. Throws Error when it cannot be started.
  WorkerProcess(const std::filesystem::path& program, int index);
  /// Kills and reaps it.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  enum class Event { answer, ended, garbage, timed_out, interrupted };
  struct Received {
    Event event = Event::answer;
    std::string text;  // the answer, or for `ended` and `garbage` what happened, as a sentence
  };

  /// Puts a request on its way; receive() sends what the socket does not take at once.
  void send(std::string_view text);
  /// The next answer, waiting at most `timeout_s`. After anything but an answer the process is of
  /// no more use.
  Received receive(double timeout_s);

  /// Whether it still holds its end of the socket.
  bool connected() const;
  /// Kills it without waiting for its end, which the destructor does.
  void kill() noexcept;

 private:
  void flush();
  Received receive_end();

  UniqueFd socket_;
  pid_t pid_ = -1;
  std::string outgoing_;
  FrameReader reader_;
};

}  // namespace assay
