#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "base/child_process.h"
#include "base/file.h"
#include "messages/frames.h"

namespace assay {

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
