#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/file.h"
#include "base/frames.h"
#include "compile/nvrtc.h"

namespace assay {

/// NVRTC in a child process, one compile at a time. It is a process and not a thread for three
/// reasons:
/// - NVRTC holds one lock during its front end, so threads of one process wait for each other.
/// - A front end that does not end (templates) cannot be stopped, and it would hold that lock for
///   good.
/// - A compiler that crashes or uses up all memory then costs only the configuration that made it.
class CompileProcess {
 public:
  /// Forks. The child ends when the thread that called this ends, for whatever reason. Throws
  /// Error.
  explicit CompileProcess(const Nvrtc& nvrtc);
  ~CompileProcess();
  CompileProcess(const CompileProcess&) = delete;
  CompileProcess& operator=(const CompileProcess&) = delete;

  struct Limits {
    double running_s = 0;  // while the child runs or waits; not while it is stopped or queues
    std::uint64_t memory_bytes = 0;  // besides what it shares with its parent
    double waiting_s = std::numeric_limits<double>::infinity();  // on end; longer is stuck
  };
  /// stuck: probably for a lock that another thread of the parent had at the fork, as libc's for
  /// time zones, which NVRTC takes. In the child nobody will give it back.
  enum class End { done, timeout, stuck, memory, death };
  struct Result {
    End end = End::done;
    Nvrtc::Output output;
    std::vector<std::string> headers;  // what NVRTC read besides the unit's text, as it names them
    std::string cause_of_death;        // "signal 11 (Segmentation fault)"
    bool killed = false;               // from outside, see ChildProcess::End
  };

  /// If it ends in anything but `done`, the object can only be destroyed. Throws Error when NVRTC
  /// is unfit.
  Result compile(const Nvrtc::Unit& unit, const Limits& limits);

  /// Makes a running compile() return `death`. May be called from another thread.
  void kill() const;

 private:
  End receive(const Limits& limits, std::string& reply);

  UniqueFd socket_;
  FrameReader reader_;
  std::optional<ChildProcess> child_;
  std::filesystem::path folder_;    // the child's for large files, while it has one
  std::uint64_t shared_bytes_ = 0;  // memory that the child was born with
};

/// The machine's memory, or the limit of its container where the limit is less. The folder `cgroup`
/// shows the limits of the container.
std::uint64_t machine_memory_bytes(const std::filesystem::path& cgroup = "/sys/fs/cgroup");

/// What each of `num_compiles` at a time may take, see kCompileMemoryRatio.
std::uint64_t compile_memory_bytes(std::uint64_t machine_bytes, int num_compiles);

/// From now on this process and what it forks can reach no network, start no other program and look
/// into no other process: such system calls fail with EPERM. Descriptors that are open stay usable.
/// Returns false where the system has no filter of system calls; then nothing changes.
///
/// NVRTC needs none of these calls. A source that breaks into the compiler finds none.
bool forbid_network_and_programs();

}  // namespace assay
