#pragma once

#include <string>

#include "base/file.h"

namespace assay {

/// Makes the processes that measure on one GPU take turns: held while a trial runs. The file is
/// assay-gpu-UUID.lock in the system's temporary folder and is never removed, because removing a
/// locked file would let two processes lock two files of one name.
class GpuLock {
 public:
  /// Waits for its turn. Throws Error when the file cannot be made.
  explicit GpuLock(const std::string& uuid);
  GpuLock(const GpuLock&) = delete;
  GpuLock& operator=(const GpuLock&) = delete;

 private:
  UniqueFd fd_;  // closing it releases the lock
};

}  // namespace assay
