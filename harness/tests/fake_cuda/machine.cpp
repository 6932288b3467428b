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
int count_start(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return 1;
  [[maybe_unused]] const ssize_t written = ::write(fd, "x", 1);
  struct stat status = {};
  ::fstat(fd, &status);
  ::close(fd);
  return static_cast<int>(status.st_size);
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

Script::Script(const char* text) {
  std::istringstream words(text != nullptr ? text : "");
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t cut = word.find_first_of("=@");
    values_[word.substr(0, cut)] = cut == std::string::npos ? "" : word.substr(cut + 1);
  }
}

std::string Script::text(const std::string& word) const {
  const auto found = values_.find(word);
  return found == values_.end() ? "" : found->second;
}

int Script::number(const std::string& word, int otherwise) const {
  const std::string value = text(word);
  return value.empty() ? otherwise : std::stoi(value);
}

bool Script::covers(const std::string& word, int number) const {
  const std::string value = text(word);
  return !value.empty() && std::stoi(value) <= number &&
         number <= std::stoi(value.substr(value.find('-') + 1));
}

std::string Script::launch_fault() const {
  const auto found = std::find_if(kLaunchFaults.begin(), kLaunchFaults.end(),
                                  [&](const char* fault) { return has(fault); });
  return found == kLaunchFaults.end() ? "" : *found;
}

Machine& Machine::get() {
  static Machine machine;
  return machine;
}

CUresult Machine::init() {
  if (script_.has("no_device")) return CUDA_ERROR_NO_DEVICE;
  for (const char* const fault : {"lost_after", "dies_after", "moves_after"}) {
    if (!script_.has(fault) || count_start(script_.text("counter")) <= script_.number(fault, 0)) {
      continue;
    }
    if (fault[0] == 'l') return CUDA_ERROR_UNKNOWN;
    if (fault[0] == 'd') ::_exit(9);
    first_gpu_ = 1;
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

CUresult Machine::launch(const std::string& entry, void** arguments, unsigned grid,
                         unsigned block) {
  if (sticky_ != CUDA_SUCCESS) return sticky_;
  if (grid == 0 || block == 0 || block > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (is_launch_fault(entry)) return misbehave(entry);
  if (entry.starts_with("assay_")) {
    advance(find_kernel(entry)(arguments, grid, block));
    return CUDA_SUCCESS;
  }
  ++num_tested_launches_;
  busy_ = true;
  counts_.bytes += 1000.0 * block;
  counts_.warps += static_cast<double>(grid) * (block / 32);
  bool is_wrong = false;
  if (script_.number("block", static_cast<int>(block)) == static_cast<int>(block)) {
    ++num_faulty_launches_;
    const std::string fault = script_.launch_fault();
    if (!fault.empty() && script_.number(fault, num_faulty_launches_) == num_faulty_launches_ &&
        (!script_.has("once") || make_first(script_.text("once")))) {
      return misbehave(fault);
    }
    is_wrong = script_.covers("wrong", num_faulty_launches_);
  }
  double time_ns = find_kernel(is_wrong ? "wrong_value" : entry)(arguments, grid, block);
  if (script_.has("drifting")) time_ns *= 1 + 0.01 * num_tested_launches_;
  advance(time_ns);
  if (script_.covers("throttled", num_tested_launches_)) now_ns_ += time_ns;
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
  if (busy_) std::this_thread::sleep_for(std::chrono::microseconds(script_.number("slow", 0)));
  busy_ = false;
  return sticky_;
}

}  // namespace fake
