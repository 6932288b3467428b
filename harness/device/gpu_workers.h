#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/trial.h"
#include "device/gpu_device.h"
#include "device/worker_process.h"

namespace assay {

/// Makes the sweeps that share a GPU take turns. The parent waits for the turn, before its watchdog
/// starts to count. If the worker waited instead, a hanging kernel of another sweep would look like
/// a hang of its own trial.
class GpuTurns {
 public:
  /// The lock is the file assay-turn-UUID.lock in the system's temporary folder, which users share.
  /// It is never removed, because then two processes could lock two files of the same name. Where
  /// it cannot be opened, or is a link, nobody waits for a turn, and a warning says so.
  explicit GpuTurns(const std::string& uuid);

  /// A turn. It lasts as long as this object.
  class Turn {
   public:
    explicit Turn(int fd) : fd_(fd) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    int fd_;
  };

  /// Waits until no other process has its turn; after two seconds it says for which one. Throws
  /// Interrupted.
  Turn wait();

 private:
  void warn_of(const char* what, int code);

  std::string path_;
  UniqueFd fd_;
  bool has_said_that_it_waits_ = false;
};

/// Keeps the worker of a GPU alive, and gets answers from it.
class GpuWorkers {
 public:
  using Take = std::function<void(const nlohmann::json& result)>;

  /// Starts the first worker and reads what GPU it has. Throws Error (no driver, no GPU).
  explicit GpuWorkers(GpuOptions options);

  /// Sends a request that each worker gets first from now on.
  void set_up(nlohmann::json request);

  /// Sends a request and hands its result to `take`. If the worker hung, died, sent garbage or lost
  /// its context, returns what went wrong; the worker is then being replaced. Where the worker was
  /// killed or died the request is sent once more. Throws what the worker threw.
  std::optional<Outcome> ask(const nlohmann::json& request, double timeout_s, const Take& take);
  /// Like ask, for a request that involves no configuration. So a failure is the machine's.
  void demand(const nlohmann::json& request, double timeout_s, const Take& take);

  /// Goes on with another worker: one that rests, or a new one. A worker that has just replaced
  /// another has done nothing yet.
  void take_next();
  /// Waits for this process's turn on the GPU.
  GpuTurns::Turn wait_for_turn();

  const GpuOptions& options() const { return options_; }
  const DeviceInfo& info() const { return info_; }
  /// What set_up() was given.
  const nlohmann::json& setup() const { return setup_.value(); }
  /// Whether the last answer came from a worker that lost its context.
  bool context_lost() const { return context_lost_; }
  int num_started() const { return num_started_; }

 private:
  void launch();
  void await_ready();
  bool started();
  nlohmann::json receive_start();
  Error lost() const;
  std::optional<Outcome> ask_once(const nlohmann::json& request, double timeout_s,
                                  const Take& take);
  std::optional<Outcome> read_answer(const std::string& text, const Take& take);

  GpuOptions options_;
  DeviceInfo info_;
  std::optional<GpuTurns> turns_;
  std::optional<nlohmann::json> setup_;
  std::unique_ptr<WorkerProcess> worker_;
  std::unique_ptr<WorkerProcess> dying_;  // killed; reaped while its replacement starts
  std::deque<std::unique_ptr<WorkerProcess>> resting_;  // ready; the first was used longest ago
  bool ready_ = false;                                  // the worker has answered hello and setup
  int num_started_ = 0;
  std::string start_failure_;  // why the last start failed
  bool context_lost_ = false;
  bool refused_ = false;  // whether it was a live worker that said so
};

}  // namespace assay
