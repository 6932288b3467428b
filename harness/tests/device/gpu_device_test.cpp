// The worker's process against the stand-in for libcuda: every way to fail costs one trial, and
// leaves neither a process nor a descriptor behind.
#include "device/gpu_device.h"

#include <dirent.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "fixtures.h"
#include "spec/vocabulary.h"

namespace assay {
namespace {

using test::request_of;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

std::size_t num_open_files() {
  const fs::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(fs::begin(files), fs::end(files)));
}

/// Live and zombie children of this process.
std::set<pid_t> children() {
  std::set<pid_t> pids;
  for (const auto& entry : fs::directory_iterator("/proc/self/task")) {
    std::ifstream file(entry.path() / "children");
    for (pid_t pid = 0; file >> pid;) pids.insert(pid);
  }
  return pids;
}

/// Whether any thread of the process is left: its descriptors are closed only after the last.
bool alive(pid_t pid) {
  std::error_code gone;
  if (std::distance(fs::directory_iterator(fmt::format("/proc/{}/task", pid), gone), {}) > 1) {
    return true;
  }
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
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

  Outcome run(const std::string& entry) {
    TrialRequest request = request_of(entry);
    request.cubin_path = cubin();
    return gpu().run(request);
  }

  void expect_works() {
    const Outcome outcome = run("vector_add");
    EXPECT_EQ(outcome.status, Status::correct) << outcome.kind << ": " << outcome.message;
    ASSERT_TRUE(outcome.timing);
    // 1000 elements in blocks of 128 on the stand-in's clock, see vector_add_ns.
    EXPECT_NEAR(outcome.timing->median_ns, 2000 + 6 + 1920, 1);
  }

  test::TemporaryFolder folder_;
  test::ScopedVariable path_{"LD_LIBRARY_PATH", ASSAY_FAKE_CUDA_FOLDER};
  // The file by which sweeps take turns: tests that run side by side each have a GPU of their own.
  test::ScopedVariable temporary_{"TMPDIR", folder_.path().string()};
  std::optional<test::ScopedVariable> script_;
  std::size_t num_open_files_ = num_open_files();
  std::optional<GpuDevice> gpu_;
};

TEST_F(GpuDeviceTest, AWorkingTrialAfterAnotherNeedsOneWorker) {
  EXPECT_EQ(gpu().info().name, "Fake GPU");
  EXPECT_EQ(gpu().info().cc, 90);
  EXPECT_EQ(gpu().provenance(), "");
  for (int i = 0; i < 3; ++i) expect_works();
  EXPECT_EQ(gpu().num_workers_started(), 1);
}

struct Fault {
  std::string entry;
  Status status;
  std::string kind;
  std::string message;
  int workers;  // started in all when the next trial has run
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.entry; }

class FaultTest : public GpuDeviceTest, public testing::WithParamInterface<Fault> {};

TEST_P(FaultTest, CostsItsTrialAlone) {
  const Fault& fault = GetParam();
  expect_works();
  const Outcome outcome = run(fault.entry);
  EXPECT_EQ(outcome.status, fault.status) << outcome.kind << ": " << outcome.message;
  EXPECT_EQ(outcome.kind, fault.kind) << outcome.message;
  EXPECT_THAT(outcome.message, HasSubstr(fault.message));
  EXPECT_FALSE(outcome.timing);
  expect_works();
  EXPECT_EQ(gpu().num_workers_started(), fault.workers);
}

INSTANTIATE_TEST_SUITE_P(
    Each, FaultTest,
    testing::Values(
        Fault{"crash", Status::runtime, "crash", "worker died: signal 11 (Segmentation fault)", 2},
        Fault{"exit", Status::runtime, "crash", "worker died: exit code 7", 2},
        Fault{"garbage", Status::runtime, "crash", "worker sent garbage: ", 2},
        Fault{"hang", Status::timeout, "hang", "within 3.1 seconds", 2},
        Fault{"illegal_address", Status::runtime, "illegal_address", "CUDA_ERROR_ILLEGAL_ADDRESS",
              2},
        Fault{"trap", Status::runtime, "trap", "CUDA_ERROR_LAUNCH_FAILED", 2},
        Fault{"launch_refused", Status::runtime, "launch", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", 1},
        Fault{"out_of_memory", Status::runtime, "out_of_memory", "CUDA_ERROR_OUT_OF_MEMORY", 1},
        Fault{"no_such_entry", Status::runtime, "missing_entry", "no_such_entry", 1},
        Fault{"wrong_value", Status::correctness, "mismatch", "C[500]", 1},
        Fault{"skips_last", Status::correctness, "unwritten", "C[999]", 1},
        Fault{"writes_outside", Status::correctness, "out_of_bounds", "C", 1},
        Fault{"changes_input", Status::correctness, "input_modified", "A", 1}),
    [](const auto& fault) { return fault.param.entry; });

TEST_F(GpuDeviceTest, FaultAfterFaultNeverEndsTheSweep) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(run("crash").kind, "crash");
    EXPECT_EQ(run("illegal_address").kind, "illegal_address");
  }
  expect_works();
  EXPECT_EQ(gpu().num_workers_started(), 11);
}

TEST_F(GpuDeviceTest, AWorkerKilledInTheMiddleCostsTheTrialThatRan) {
  expect_works();
  const pid_t worker = *children().begin();
  std::thread killer([worker] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(worker, SIGKILL);
  });
  const Outcome outcome = run("hang");
  killer.join();
  EXPECT_EQ(outcome.kind, "crash");
  EXPECT_EQ(outcome.message, "worker died: signal 9 (Killed)");
  expect_works();
}

TEST_F(GpuDeviceTest, AWorkerKilledBetweenTrialsCostsNone) {
  expect_works();
  const pid_t worker = *children().begin();
  ::kill(worker, SIGKILL);
  ASSERT_TRUE(within_seconds(5, [&] { return !alive(worker); }));
  expect_works();
  EXPECT_EQ(gpu().num_workers_started(), 2);
}

// The watchdog must also end one that no longer reads, whatever fills the socket.
TEST_F(GpuDeviceTest, AStoppedWorkerIsAHang) {
  expect_works();
  ::kill(*children().begin(), SIGSTOP);
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  request.plan.kernel = std::string(std::size_t{4} << 20, 'x');
  EXPECT_EQ(gpu().run(request).status, Status::timeout);
  expect_works();
}

TEST_F(GpuDeviceTest, ARerankDropsTheCandidateThatKillsItAndTimesTheOthers) {
  std::vector<TrialRequest> candidates = {request_of("vector_add"), request_of("crash"),
                                          request_of("vector_add")};
  candidates[2].plan.launches[0].block = {256, 1, 1};
  for (TrialRequest& candidate : candidates) candidate.cubin_path = cubin();
  const RerankResult result = gpu().rerank(candidates, {}, {.rounds = 6});
  ASSERT_EQ(result.candidates.size(), 3u);
  EXPECT_EQ(result.candidates[0].outcome.status, Status::correct);
  EXPECT_GE(result.candidates[0].samples_ns.size(), 6u);
  EXPECT_EQ(result.candidates[1].outcome.kind, "crash");
  EXPECT_TRUE(result.candidates[1].samples_ns.empty());
  EXPECT_EQ(result.candidates[2].samples_ns.size(), 6u);
  EXPECT_LT(result.candidates[2].samples_ns[0], result.candidates[0].samples_ns[0]);
  expect_works();
}

TEST_F(GpuDeviceTest, ARerankWhoseWorkerIsKilledIsDoneAgain) {
  script("slow=20000");
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  expect_works();
  const pid_t worker = *children().begin();
  std::thread killer([worker] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(worker, SIGKILL);
  });
  const RerankResult result = gpu().rerank({request, request}, {}, {.rounds = 12});
  killer.join();
  for (const RerankEntry& entry : result.candidates) {
    EXPECT_EQ(entry.outcome.status, Status::correct) << entry.outcome.message;
    EXPECT_EQ(entry.samples_ns.size(), 12u);
  }
  EXPECT_EQ(gpu().num_workers_started(), 2);
}

TEST_F(GpuDeviceTest, ARerankTimesEveryRound) {
  std::vector<TrialRequest> candidates = {request_of("vector_add"), request_of("vector_add")};
  for (TrialRequest& candidate : candidates) candidate.cubin_path = cubin();
  candidates[1].plan.launches[0].block = {256, 1, 1};
  const RerankResult result = gpu().rerank(candidates, {}, {.rounds = 6});
  ASSERT_EQ(result.candidates.size(), 2u);
  EXPECT_EQ(result.candidates[0].samples_ns.size(), 6u);
  EXPECT_EQ(result.candidates[1].samples_ns.size(), 6u);
  EXPECT_LT(result.candidates[1].samples_ns[0], result.candidates[0].samples_ns[0]);
}

TEST_F(GpuDeviceTest, EverySampleHasItsClock) {
  const Outcome outcome = run("vector_add");
  ASSERT_TRUE(outcome.timing);
  EXPECT_EQ(outcome.timing->clocks_mhz.size(), outcome.timing->samples_ns.size());
  EXPECT_NEAR(outcome.timing->clock_mhz, 1755, 1);  // the stand-in's
}

// Launches 1 to 3 are checks, the 4th is thrown away.
TEST_F(GpuDeviceTest, ASampleAtALowClockIsTakenAgain) {
  script("throttled=6-7");
  const Outcome outcome = run("vector_add");
  ASSERT_TRUE(outcome.timing);
  EXPECT_EQ(outcome.timing->num_throttled, 2);
  for (const double time_ns : outcome.timing->samples_ns) EXPECT_NEAR(time_ns, 3926, 1);
}

TEST_F(GpuDeviceTest, AClockThatStaysLowIsMarkedAndItsSamplesKept) {
  script("throttled=6-100000");
  const Outcome outcome = run("vector_add");
  EXPECT_EQ(outcome.status, Status::correct);
  ASSERT_TRUE(outcome.timing);
  EXPECT_GE(outcome.timing->num_throttled, 6);
  EXPECT_NEAR(outcome.timing->samples_ns.front(), 3926, 1);
  EXPECT_NEAR(outcome.timing->samples_ns.back(), 2 * 3926, 1);
}

TEST_F(GpuDeviceTest, ALowClockUnderLoadIsWhatSustainedMeasures) {
  script("throttled=6-1000000000");
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  request.measure.protocol = "sustained";
  const Outcome outcome = gpu().run(request);
  ASSERT_TRUE(outcome.timing);
  EXPECT_EQ(outcome.timing->num_throttled, 0);
  EXPECT_NEAR(outcome.timing->median_ns, 2 * 3926, 1);
}

TEST_F(GpuDeviceTest, ATimeThatNeverSettlesUnderLoadSaysSo) {
  script("drifting");
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  request.measure.protocol = "sustained";
  request.measure.max_seconds_per_config = 0.1;
  const Outcome outcome = gpu().run(request);
  EXPECT_EQ(outcome.status, Status::correct);
  ASSERT_TRUE(outcome.timing);
  EXPECT_EQ(outcome.timing->stop, StopReason::unsettled);
  EXPECT_NE(outcome.message.find("never settled"), std::string::npos) << outcome.message;
}

TEST_F(GpuDeviceTest, EverySampleOfARerankHasItsClock) {
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  const RerankResult result = gpu().rerank({request, request}, {}, {.rounds = 6});
  for (const RerankEntry& entry : result.candidates) {
    ASSERT_EQ(entry.clocks_mhz.size(), entry.samples_ns.size());
    EXPECT_NEAR(entry.clocks_mhz.front(), 1755, 1);
  }
}

TEST_F(GpuDeviceTest, EveryProtocolOfASweepIsTimed) {
  for (const ProtocolRow& protocol : protocols()) {
    TrialRequest request = request_of("vector_add");
    request.cubin_path = cubin();
    request.measure.protocol = protocol.name;
    const Outcome outcome = gpu().run(request);
    EXPECT_EQ(outcome.status, Status::correct) << protocol.name << ": " << outcome.message;
    ASSERT_TRUE(outcome.timing) << protocol.name;
    EXPECT_NEAR(outcome.timing->median_ns, 2000 + 6 + 1920, 1) << protocol.name;
  }
}

TEST_F(GpuDeviceTest, WhatCannotBeCapturedIsRefusedUnderGraphWithASentence) {
  script("no_capture");
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  request.measure.protocol = "graph";
  const Outcome outcome = gpu().run(request);
  EXPECT_EQ(outcome.status, Status::runtime);
  EXPECT_EQ(outcome.kind, "graph");
  EXPECT_NE(outcome.message.find("cannot be captured"), std::string::npos) << outcome.message;
  expect_works();
}

TEST_F(GpuDeviceTest, WhatIsClearlySlowerThanTheBestIsGivenUpAndStillChecked) {
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  request.best_ns = 2000;
  const Outcome outcome = gpu().run(request);
  EXPECT_EQ(outcome.status, Status::correct);
  ASSERT_TRUE(outcome.timing && outcome.validation);
  EXPECT_TRUE(outcome.timing->censored());
  EXPECT_EQ(outcome.timing->samples_ns.size(), 3u);
  request.best_ns = 4000;
  EXPECT_FALSE(gpu().run(request).timing->censored());
}

TEST_F(GpuDeviceTest, TheFirstOfARerankTakesPartTwice) {
  std::vector<TrialRequest> candidates = {request_of("crash"), request_of("vector_add"),
                                          request_of("vector_add")};
  candidates[2].plan.launches[0].block = {256, 1, 1};
  for (TrialRequest& candidate : candidates) candidate.cubin_path = cubin();
  const std::vector<TrialRequest> sound(candidates.begin() + 1, candidates.end());
  RerankResult result = gpu().rerank(sound, {}, {.rounds = 6});
  ASSERT_TRUE(result.twin);
  EXPECT_EQ(result.twin_of, 0u);
  ASSERT_EQ(result.twin->samples_ns.size(), 6u);
  // To the stand-in the two are one.
  EXPECT_NEAR(result.twin->samples_ns[3], result.candidates[0].samples_ns[3], 1);
  // When one is dropped, the twin is the first that is left.
  result = gpu().rerank(candidates, {}, {.rounds = 6});
  ASSERT_TRUE(result.twin);
  EXPECT_EQ(result.twin_of, 1u);
  EXPECT_NEAR(result.twin->samples_ns[3], result.candidates[1].samples_ns[3], 1);
}

TEST_F(GpuDeviceTest, TheWorkerOfAnEndedThreadLives) {
  std::thread([this] { expect_works(); }).join();
  expect_works();
  EXPECT_EQ(gpu().num_workers_started(), 1);
}

// The wait for another sweep's hanging trial is longer than this one's own watchdog would allow.
TEST_F(GpuDeviceTest, AnotherSweepsHangIsNotThisOnes) {
  expect_works();
  GpuOptions patient = options();
  patient.hang_timeout_s = 1;
  GpuDevice other(patient);
  other.setup(cubin(), std::nullopt);
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  std::thread hanging([this] { EXPECT_EQ(run("hang").kind, "hang"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const Outcome outcome = other.run(request);
  hanging.join();
  EXPECT_EQ(outcome.status, Status::correct) << outcome.kind << ": " << outcome.message;
  EXPECT_EQ(other.num_workers_started(), 1);
}

TEST_F(GpuDeviceTest, AMissingCublasIsAnErrorThatNamesIt) {
  TrialRequest request = request_of("vector_add");
  request.cubin_path = cubin();
  for (ArgPlan& arg : request.plan.args) {
    if (auto* buffer = std::get_if<BufferPlan>(&arg)) buffer->shape = {10, 10};
  }
  request.plan.reference = {ReferencePlan{"gemm", {{"a", "A"}, {"b", "B"}, {"out", "C"}}, {}}};
  try {
    const Outcome outcome = gpu().run(request);
    FAIL() << outcome.kind << ": " << outcome.message;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("libcublas"));
  }
  expect_works();
}

TEST_F(GpuDeviceTest, WithoutAGpuTheWorkersSentenceIsTheError) {
  script("no_device");
  try {
    gpu();
    FAIL() << "a GPU was found";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the NVIDIA driver finds no GPU");
  }
}

TEST_F(GpuDeviceTest, AnIndexThatNoGpuHasIsAnErrorThatSaysSo) {
  GpuOptions second = options();
  second.index = 1;
  try {
    GpuDevice device(second);
    FAIL() << "a second GPU was found";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no GPU 1"));
  }
}

TEST_F(GpuDeviceTest, AProgramThatIsNoWorkerIsAnError) {
  for (const auto& [program, sentence] :
       {std::pair{"/bin/false", "exit code 1"}, std::pair{"/nowhere/assay", "/nowhere/assay"}}) {
    GpuOptions other = options();
    other.worker_program = program;
    try {
      GpuDevice device(other);
      FAIL() << program;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), StartsWith("GPU 0 cannot be used: "));
      EXPECT_THAT(error.what(), HasSubstr(sentence));
    }
  }
}

class LostGpuTest : public GpuDeviceTest, public testing::WithParamInterface<std::string> {};

TEST_P(LostGpuTest, EndsTheSweepAfterTheLastStart) {
  script(fmt::format("{},counter={}", GetParam(), (folder_.path() / "starts").string()));
  expect_works();
  EXPECT_EQ(run("crash").kind, "crash");
  expect_works();  // the second of two good starts
  EXPECT_EQ(run("crash").kind, "crash");
  try {
    run("vector_add");
    FAIL() << "the GPU is still there";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("GPU 0 (Fake GPU) is lost: "));
    EXPECT_THAT(error.what(), HasSubstr("everything measured so far is stored"));
  }
  EXPECT_EQ(gpu().num_workers_started(), 2 + 3);
}

INSTANTIATE_TEST_SUITE_P(Each, LostGpuTest, testing::Values("lost_after=2", "dies_after=2"),
                         [](const auto& end) { return end.param.substr(0, 4); });

TEST_F(GpuDeviceTest, CountsGpusWithoutBecomingTheirUser) {
  std::string reason;
  ASSERT_EQ(::setenv("LD_LIBRARY_PATH", "/nowhere", 1), 0);
  // The loader read the path when this process started, so the library is not found here.
  EXPECT_EQ(count_gpus(reason), 0);
  EXPECT_THAT(reason, HasSubstr("driver"));
  EXPECT_TRUE(children().empty());
}

// What follows ends the process that it is tried in.

/// The process ids that lines of `path` hold.
std::vector<pid_t> read_pids(const fs::path& path) {
  std::ifstream file(path);
  return {std::istream_iterator<pid_t>(file), {}};
}

/// Runs `body` in a child, sends it a signal once it has written to `ready`, and returns how it
/// ended and after how many seconds.
template <typename Body>
std::pair<int, double> in_child(const fs::path& ready, int signal_number, const Body& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(99);
  }
  EXPECT_TRUE(within_seconds(30, [&] { return !read_pids(ready).empty(); }));
  // Into the trial; before it, the signal would meet an easier case.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto start = std::chrono::steady_clock::now();
  ::kill(pid, signal_number);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {status, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

TEST_F(GpuDeviceTest, CtrlCEndsAHangingTrialWithinASecond) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const fs::path pids = folder_.path() / fmt::format("pids{}", signal_number);
    const auto [status, seconds] = in_child(pids, signal_number, [&] {
      catch_interrupts();
      int code = 1;
      try {
        gpu();
        std::ofstream(pids) << *children().begin() << std::endl;
        run("hang");
      } catch (const Interrupted&) {
        code = kExitInterrupted;
      }
      gpu_.reset();
      ::_exit(code);
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), kExitInterrupted);
    EXPECT_LT(seconds, 1);
    ASSERT_EQ(read_pids(pids).size(), 1u);
    EXPECT_TRUE(within_seconds(5, [&] { return !alive(read_pids(pids)[0]); }));
  }
}

TEST_F(GpuDeviceTest, AKilledParentTakesItsHangingWorkerAlong) {
  const fs::path pids = folder_.path() / "pids";
  const auto [status, seconds] = in_child(pids, SIGKILL, [&] {
    gpu();
    std::ofstream(pids) << *children().begin() << std::endl;
    run("hang");
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(read_pids(pids).size(), 1u);
  EXPECT_TRUE(within_seconds(5, [&] { return !alive(read_pids(pids)[0]); }));
}

TEST_F(GpuDeviceTest, TheTerminalsCtrlCDoesNotReachTheWorker) {
  expect_works();
  EXPECT_NE(::getpgid(*children().begin()), ::getpgid(0));
}

}  // namespace
}  // namespace assay
