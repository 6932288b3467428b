#pragma once

#include <string>

#include "base/file.h"

namespace assay {

/// Makes the sweeps that share a GPU take turns. The parent waits for its turn, before the watchdog
/// counts: were it the worker, another sweep's hanging kernel would look like its own trial's.
class GpuTurns {
 public:
  /// The file is assay-turn-UUID.lock in the system's temporary folder; it is never removed,
  /// because two processes could then lock two files of one name. Throws Error when it cannot be
  /// made.
  explicit GpuTurns(const std::string& uuid);

  /// A turn, for the length of its life.
  class Turn {
   public:
    explicit Turn(int fd) : fd_(fd) {}
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    int fd_;
  };

  /// Waits until no other process has its turn. Throws Interrupted.
  Turn wait() const;

 private:
  UniqueFd fd_;
};

}  // namespace assay
