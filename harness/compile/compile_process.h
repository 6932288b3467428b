#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "base/file.h"
#include "compile/nvrtc.h"

namespace assay {

/// NVRTC in a child process, one compile at a time. A process and not a thread, for three reasons:
/// NVRTC holds one lock during its front end, so threads of one process wait for each other; a
/// front end that does not end (templates) cannot be stopped, and would hold that lock for good;
/// and a compiler that crashes or eats all memory costs the one configuration that made it.
class CompileProcess {
 public:
  /// Forks. The child ends with the thread that called this, whatever ends that. Throws Error.
  explicit CompileProcess(const Nvrtc& nvrtc);
  /// Kills the child.
  ~CompileProcess();
  CompileProcess(const CompileProcess&) = delete;
  CompileProcess& operator=(const CompileProcess&) = delete;

  enum class End { done, timeout, death };
  struct Result {
    End end = End::done;
    Nvrtc::Output output;
    std::string cause_of_death;  // "signal 11 (Segmentation fault)"
  };

  /// After anything but `done` the object can only be destroyed. Throws Error when NVRTC is unfit.
  Result compile(const Nvrtc::Unit& unit, std::chrono::steady_clock::time_point deadline);

  /// Makes a running compile() return `death`. May be called from another thread.
  void kill() const;

 private:
  std::string cause_of_death() const;

  pid_t pid_ = -1;
  UniqueFd socket_;
};

}  // namespace assay
