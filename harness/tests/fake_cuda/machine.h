#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>

/// A GPU that is not there: host memory is device memory, work runs when it is enqueued, and the
/// clock is a number that each piece of work moves on by an amount that follows from its size. So a
/// test knows every time it will see, and nothing depends on how busy the machine is.
namespace fake {

/// An SM clock of 1755 MHz, as an H200 has under load.
inline constexpr double kCyclesPerNs = 1.755;

/// Bytes over this is the time of a copy or a read: 4 TB/s, about an H200.
inline constexpr double kBytesPerNs = 4000;

/// What tells a texture object from an address.
inline constexpr std::uint64_t kTextureBit = std::uint64_t{1} << 63;

/// What the stand-in writes into a CUtensorMap: what it was asked for, of two dimensions at most.
struct TensorMap {
  std::uint64_t address = 0;
  std::uint64_t rank = 0;
  std::uint64_t extents[2] = {};
  std::uint64_t stride_bytes = 0;
  std::uint64_t box[2] = {};
  std::uint64_t swizzle = 0;
  std::uint64_t type = 0;
};
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

/// What ASSAY_FAKE_CUDA asks to go wrong: words separated by commas.
///   no_device        cuInit finds no GPU
///   gpus=N           there are so many of them, else one
///   lost_after=N     the first N processes that start are fine, cuInit fails in all later ones
///   dies_after=N     the same, but the process ends
///   moves_after=N    the same, but all later ones lack the first GPU, and the second is the first
///   cuda=N           the driver runs what this version of CUDA makes: 12040 for 12.4
///   slow=US          waiting for the kernel under test takes so many microseconds of real time
///   throttled=A-B    the A-th to the B-th launch of a kernel under test run at half the clock
///   wrong=A-B        the A-th to the B-th launch of a kernel under test write a wrong value
///   drifting         every launch of a kernel under test takes 1 % longer than the one before
///   no_capture       a stream cannot be captured in a graph
///   mps              programs share the GPU by CUDA's multi-process service
///   slice            the GPU is a slice of one
///   no_counting      only administrators may count what the hardware does
///   busy_counters    another process counts
///   counter=PATH     the file, one byte a process, that these count with
///   crash, killed, exit, hang, garbage, illegal_address, trap, launch_refused, out_of_memory
///                    what the kernel under test does instead of running, on every launch, or,
///                    with @N (crash@3), on the process's Nth only
///   once=PATH        with one of these: strikes only if there is no such file yet, and makes it
///   block=B          with one of these, or wrong=: only launches with B threads a block count and
///   fail
class Script {
 public:
  explicit Script(const char* text);

  bool has(const std::string& word) const { return values_.contains(word); }
  /// What stands behind a word and its = or @; empty without either.
  std::string text(const std::string& word) const;
  int number(const std::string& word, int otherwise) const;
  /// Whether `number` is one of A to B, for word=A-B.
  bool covers(const std::string& word, int number) const;
  /// The fault of launches that it names, or empty.
  std::string launch_fault() const;

 private:
  std::map<std::string, std::string> values_;
};

/// What the GPU's counters have counted of kernels under test: 1000 bytes for each thread of a
/// block of each launch, however many blocks there are, and the warps.
struct Counts {
  double bytes = 0;
  double warps = 0;
};

/// The process's GPU. Its error, once set by a kernel, is what every later call returns.
class Machine {
 public:
  static Machine& get();

  CUresult init();
  const Script& script() const { return script_; }
  int num_gpus() const { return script_.number("gpus", 1) - first_gpu_; }
  /// Which of the machine's is GPU 0 to this process.
  int first_gpu() const { return first_gpu_; }
  const Counts& counts() const { return counts_; }
  CUresult status() const { return sticky_; }
  CUresult allocate(std::size_t bytes, void** memory);
  CUresult free(void* memory);
  std::size_t free_bytes() const;

  double now_ns() const { return now_ns_; }
  double cycles() const { return cycles_; }
  void advance(double ns) {
    now_ns_ += ns;
    cycles_ += ns * kCyclesPerNs;
  }

  /// Runs a kernel by its entry's name, or what the script wants instead.
  CUresult launch(const std::string& entry, void** arguments, unsigned grid, unsigned block);
  /// Waits for the work enqueued: for ever, after a kernel that never returns.
  CUresult synchronise();

 private:
  CUresult misbehave(const std::string& fault);

  const Script script_{std::getenv("ASSAY_FAKE_CUDA")};
  int first_gpu_ = 0;
  CUresult sticky_ = CUDA_SUCCESS;
  bool hung_ = false;
  bool busy_ = false;            // a kernel under test was launched and not waited for
  int num_tested_launches_ = 0;  // of kernels under test, not of the harness's own
  int num_faulty_launches_ = 0;  // of them, those that the scripted fault may strike
  Counts counts_;
  double now_ns_ = 0;
  double cycles_ = 0;
  std::size_t used_bytes_ = 0;
  std::unordered_map<void*, std::size_t> sizes_;
};

/// The host's version of a kernel; returns the nanoseconds it takes. Null when there is none of
/// that name.
using Kernel = double (*)(void** arguments, unsigned grid, unsigned block);
Kernel find_kernel(const std::string& entry);

/// Whether `name` is one of the faults that a kernel may be scripted to commit; such names are
/// entries too.
bool is_launch_fault(const std::string& name);

}  // namespace fake
