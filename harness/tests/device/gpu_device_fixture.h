#pragma once

#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "device/gpu_device.h"
#include "fixtures.h"
#include "matchers.h"
#include "processes.h"
#include "scoped_variable.h"
#include "temp_folder.h"

namespace assay {
using test::request_of;
namespace fs = std::filesystem;

inline std::size_t num_open_files() {
  const fs::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(fs::begin(files), fs::end(files)));
}

/// Live and zombie children of this process.
inline std::set<pid_t> children() {
  std::set<pid_t> pids;
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "children");
    for (pid_t pid = 0; file >> pid;) pids.insert(pid);
  }
  return pids;
}

/// Whether any thread of the process is left: its descriptors are closed only after the last.
inline bool alive(pid_t pid) {
  std::error_code gone;
  if (std::distance(fs::directory_iterator(fmt::format("/proc/{}/task", pid), gone), {}) > 1) {
    return true;
  }
  const std::vector<std::string> fields = process_stat(pid);
  return !fields.empty() && fields[0] != "Z";
}

template <typename Condition>
bool within_seconds(double seconds, const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class GpuDeviceTest : public testing::Test {
 protected:
  GpuDeviceTest() { std::ofstream(cubin()) << "not looked into by the stand-in"; }

  ~GpuDeviceTest() override {
    gpu_.reset();
    EXPECT_TRUE(children().empty()) << "a process is left";
    EXPECT_EQ(num_open_files(), num_open_files_) << "descriptors leak";
  }

  fs::path cubin() const { return folder_.path() / "x.cubin"; }

  void script(const std::string& words) { script_.emplace("ASSAY_FAKE_CUDA", words); }

  GpuOptions options() const {
    GpuOptions options;
    options.worker_program = ASSAY_TEST_WORKER;
    options.hang_timeout_s = 3;
    return options;
  }

  GpuDevice& gpu() {
    if (!gpu_) {
      gpu_.emplace(options());
      gpu_->setup(cubin(), std::nullopt);
    }
    return *gpu_;
  }

  /// A request that the stand-in can run.
  TrialRequest ready(const std::string& entry = "vector_add",
                     const std::string& protocol = "cold") const {
    TrialRequest request = request_of(entry);
    request.cubin_path = cubin();
    request.measure.protocol = protocol;
    return request;
  }

  /// vector_add in blocks of so many threads. To the stand-in larger ones are faster.
  TrialRequest ready_in_blocks_of(unsigned threads) const {
    TrialRequest request = ready();
    request.plan.launches[0].block = {threads, 1, 1};
    return request;
  }

  Outcome run(const std::string& entry) { return gpu().run(ready(entry)); }

  void expect_works() {
    const Outcome outcome = run("vector_add");
    EXPECT_EQ(outcome.status, Status::correct) << outcome.kind << ": " << outcome.message;
    ASSERT_TRUE(outcome.timing);
    // 1000 elements in blocks of 128 on the stand-in's clock, see vector_add_ns.
    EXPECT_NEAR(outcome.timing->median_ns, 2000 + 6 + 1920, 1);
  }

  TempFolder folder_;
  test::ScopedVariable path_{"LD_LIBRARY_PATH", ASSAY_FAKE_CUDA_FOLDER};
  test::ScopedVariable toolkit_{"CUDA_HOME", ""};  // whose libraries would come before those
  // The file by which sweeps take turns: tests that run side by side each have a GPU of their own.
  test::ScopedVariable temporary_{"TMPDIR", folder_.path().string()};
  std::optional<test::ScopedVariable> script_;
  std::size_t num_open_files_ = num_open_files();
  std::optional<GpuDevice> gpu_;
};

}  // namespace assay
