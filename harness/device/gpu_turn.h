#pragma once

#include <string>

#include "base/file.h"

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

}  // namespace assay
