#include "machine.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <new>
#include <sstream>
#include <thread>

namespace fake {
namespace {

constexpr std::size_t kMemoryBytes = std::size_t{512} << 20;

constexpr std::array kLaunchFaults = {"crash", "killed",         "exit",
                                      "hang",  "garbage",        "illegal_address",
                                      "trap",  "launch_refused", "out_of_memory"};

[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

/// The worker's socket, as its command line gives it.
int worker_fd() {
  std::ifstream file("/proc/self/cmdline");
  std::string word;
  while (std::getline(file, word, '\0')) {
    if (word == "--fd" && std::getline(file, word, '\0')) return std::stoi(word);
  }
  return -1;
}

/// How many processes have started, this one included.
std::size_t count_start(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return 1;
  [[maybe_unused]] const ssize_t written = ::write(fd, "x", 1);
  struct stat status = {};
  ::fstat(fd, &status);
  ::close(fd);
  return static_cast<std::size_t>(status.st_size);
}

/// Whether the file was not there; it is now.
bool make_first(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

}  // namespace

bool is_launch_fault(const std::string& name) {
  return std::find(kLaunchFaults.begin(), kLaunchFaults.end(), name) != kLaunchFaults.end();
}

Script Script::parse(const char* text) {
  Script script;
  std::istringstream words(text != nullptr ? text : "");
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t cut = word.find_first_of("=@");
    const std::string name = word.substr(0, cut);
    const std::string value = cut == std::string::npos ? "" : word.substr(cut + 1);
    if (name == "no_device") script.no_device = true;
    if (name == "gpus") script.num_gpus = std::stoi(value);
    if (name == "counter") script.counter = value;
    if (name == "once") script.once = value;
    if (name == "cuda") script.cuda_version = std::stoi(value);
    if (name == "slow") script.slow_us = std::stoi(value);
    if (name == "drifting") script.drifting = true;
    if (name == "no_capture") script.no_capture = true;
    if (name == "mps") script.mps = true;
    if (name == "slice") script.slice = true;
    if (name == "no_counting") script.no_counting = true;
    if (name == "busy_counters") script.busy_counters = true;
    if (name == "wrong") {
      script.wrong_from = std::stoi(value);
      script.wrong_to = std::stoi(value.substr(value.find('-') + 1));
    }
    if (name == "throttled") {
      script.throttled_from = std::stoi(value);
      script.throttled_to = std::stoi(value.substr(value.find('-') + 1));
    }
    if (name == "lost_after" || name == "dies_after" || name == "moves_after") {
      script.start_fault = name.substr(0, name.find('_'));
      script.good_starts = std::stoul(value);
    }
    if (name == "block") script.fault_block = static_cast<unsigned>(std::stoul(value));
    if (is_launch_fault(name)) {
      script.launch_fault = name;
      script.fault_at = value.empty() ? 0 : std::stoi(value);
    }
  }
  return script;
}

Machine& Machine::get() {
  static Machine machine;
  return machine;
}

Machine::Machine() : script_(Script::parse(std::getenv("ASSAY_FAKE_CUDA"))) {}

CUresult Machine::init() {
  if (script_.no_device) return CUDA_ERROR_NO_DEVICE;
  if (!script_.start_fault.empty() && count_start(script_.counter) > script_.good_starts) {
    if (script_.start_fault == "dies") ::_exit(9);
    if (script_.start_fault == "moves") {
      first_gpu_ = 1;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_SUCCESS;
}

CUresult Machine::allocate(std::size_t bytes, void** memory) {
  if (sticky_ != CUDA_SUCCESS) return sticky_;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > free_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = ::operator new (bytes, std::align_val_t{256});
  sizes_[*memory] = bytes;
  used_bytes_ += bytes;
  return CUDA_SUCCESS;
}

CUresult Machine::free(void* memory) {
  const auto found = sizes_.find(memory);
  if (found == sizes_.end()) return CUDA_ERROR_INVALID_VALUE;
  ::operator delete (memory, std::align_val_t{256});
  used_bytes_ -= found->second;
  sizes_.erase(found);
  return sticky_;
}

std::size_t Machine::free_bytes() const { return kMemoryBytes - used_bytes_; }

CUresult Machine::launch(const std::string& entry, std::size_t module, void** arguments,
                         unsigned grid, unsigned block) {
  module_ = module;
  if (sticky_ != CUDA_SUCCESS) return sticky_;
  if (grid == 0 || block == 0 || block > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (is_launch_fault(entry)) return misbehave(entry);
  if (!entry.starts_with("assay_")) {
    ++num_tested_launches_;
    busy_ = true;
    counts_.bytes += 1000.0 * block;
    counts_.warps += static_cast<double>(grid) * (block / 32);
    const bool may_fail = script_.fault_block == 0 || script_.fault_block == block;
    if (may_fail) ++num_faulty_launches_;
    if (!script_.launch_fault.empty() && may_fail &&
        (script_.fault_at == 0 || script_.fault_at == num_faulty_launches_) &&
        (script_.once.empty() || make_first(script_.once))) {
      return misbehave(script_.launch_fault);
    }
  }
  const bool tested = !entry.starts_with("assay_");
  const bool may_be_wrong = tested && (script_.fault_block == 0 || script_.fault_block == block);
  const bool is_wrong = may_be_wrong && script_.wrong_from <= num_faulty_launches_ &&
                        num_faulty_launches_ <= script_.wrong_to;
  double time_ns = find_kernel(is_wrong ? "wrong_value" : entry)(arguments, grid, block);
  if (tested && script_.drifting) time_ns *= 1 + 0.01 * num_tested_launches_;
  advance(time_ns);
  if (tested && script_.throttled_from <= num_tested_launches_ &&
      num_tested_launches_ <= script_.throttled_to) {
    now_ns_ += time_ns;
  }
  return CUDA_SUCCESS;
}

// As on a GPU, a fault of a kernel shows in the calls after its launch.
CUresult Machine::misbehave(const std::string& fault) {
  if (fault == "launch_refused") return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (fault == "out_of_memory") return CUDA_ERROR_OUT_OF_MEMORY;
  if (fault == "illegal_address") sticky_ = CUDA_ERROR_ILLEGAL_ADDRESS;
  if (fault == "trap") sticky_ = CUDA_ERROR_LAUNCH_FAILED;
  if (fault == "hang") hung_ = true;
  if (fault == "exit") ::_exit(7);
  if (fault == "killed") ::raise(SIGKILL);
  if (fault == "crash") {
    ::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn it into an exit
    ::raise(SIGSEGV);
  }
  if (fault == "garbage") {
    const std::string noise(64, '\xff');
    [[maybe_unused]] const ssize_t written = ::write(worker_fd(), noise.data(), noise.size());
    hung_ = true;
  }
  return CUDA_SUCCESS;
}

CUresult Machine::synchronise() {
  if (hung_) wait_for_ever();
  if (busy_) std::this_thread::sleep_for(std::chrono::microseconds(script_.slow_us));
  busy_ = false;
  return sticky_;
}

}  // namespace fake
