#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/child_process.h"
#include "base/file.h"
#include "base/frames.h"

namespace assay {

/// A worker process and the socket to it. No call blocks for longer than it says, and every wait
/// ends at Ctrl-C.
class WorkerProcess {
 public:
  /// Starts `PROGRAM worker --fd N --device INDEX`. Throws Error when it cannot be started.
  WorkerProcess(const std::filesystem::path& program, int index);
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  enum class Event { answer, ended, killed, garbage, timed_out, interrupted };
  struct Received {
    Event event = Event::answer;
    std::string text;  // the answer, or a sentence that says how it ended or what garbage it sent
  };

  /// Sends as much of a request as the socket takes. receive() sends the rest.
  void send(std::string_view text);
  /// Waits at most `timeout_s` for the next answer, without the time in which this process or the
  /// worker was stopped. `killed` is an end from outside, for which the request is not to blame. If
  /// anything but an answer comes, the process cannot be used any more.
  Received receive(double timeout_s);

  /// Whether it still holds its end of the socket.
  bool connected() const;
  /// Kills it and does not wait for its end. The destructor does.
  void kill() noexcept;

 private:
  void flush();
  Received receive_end();

  UniqueFd socket_;
  std::optional<ChildProcess> child_;
  std::string outgoing_;
  FrameReader reader_;
};

}  // namespace assay
