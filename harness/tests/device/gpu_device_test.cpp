// The worker's process against the stand-in for libcuda: every way to fail costs one trial, and
// leaves neither a process nor a descriptor behind.
#include "cuda/gpu_count.h"
#include "device/worker_process.h"
#include "gpu_device_fixture.h"
#include "message_of.h"

namespace assay {
namespace {

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
        Fault{"crash", Status::runtime, "crash",
              "worker died: signal 11 (Segmentation fault), as did the one before it", 3},
        Fault{"killed", Status::runtime, "killed",
              "worker died: signal 9 (Killed), as did the one before it", 3},
        Fault{"exit", Status::runtime, "crash",
              "worker died: exit code 7, as did the one before it", 3},
        Fault{"garbage", Status::runtime, "crash", "worker sent garbage: ", 3},
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
        Fault{"changes_input", Status::correctness, "input_modified", "A", 1},
        // Right in every launch over poison, and once the fastest of all: timed launches were over
        // what the launch before had left.
        Fault{"skips_over_numbers", Status::correctness, "mismatch", "C[", 1}),
    [](const auto& fault) { return fault.param.entry; });

TEST_F(GpuDeviceTest, AnInOutArgumentIsWhatItWasBeforeEachLaunch) {
  TrialRequest request = ready();
  auto& sum = std::get<BufferPlan>(request.plan.args[2]);
  sum.role = Role::inout;
  sum.generator = "normal";
  request.plan.launches[0].args = {2, 1, 2, 3};
  request.plan.reference[0].operands = {{"a", "C"}, {"b", "B"}, {"out", "C"}};
  for (const char* protocol : {"cold", "hot", "graph"}) {
    request.measure.protocol = protocol;
    const Outcome outcome = gpu().run(request);
    EXPECT_EQ(outcome.status, Status::correct) << protocol << outcome.message;
  }
  request.plan.launches[0].entry = "wrong_value";
  EXPECT_EQ(gpu().run(request).kind, "mismatch");
}

TEST_F(GpuDeviceTest, AnInputMayBePassedAsATexture) {
  TrialRequest request = ready("texture_add");
  EXPECT_EQ(gpu().run(request).kind, "unwritten") << "it was given a pointer";
  std::get<BufferPlan>(request.plan.args[0]).texture.emplace();
  EXPECT_EQ(gpu().run(request).status, Status::correct);
}

TEST_F(GpuDeviceTest, AnAbsoluteToleranceAcceptsNoZeros) {
  TrialRequest request = ready("wrong_value");  // off by 1
  request.plan.absolute_tolerance = 1.1;
  EXPECT_EQ(gpu().run(request).status, Status::correct);
  request.plan.absolute_tolerance = 0.9;
  EXPECT_EQ(gpu().run(request).kind, "mismatch");
  request.plan.absolute_tolerance = 3;
  EXPECT_THAT(gpu().run(request).message, HasSubstr("the tolerance accepts zeros for C"));
}

// The system kills whom it likes when memory is short. That is no fault of the configuration.
TEST_F(GpuDeviceTest, AWorkerKilledOnceInTheMiddleCostsNothing) {
  script("slow=60000");
  gpu();
  const std::jthread killer([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(*children().begin(), SIGKILL);
  });
  expect_works();
  EXPECT_EQ(gpu().num_workers_started(), 2);
}

TEST_F(GpuDeviceTest, AWorkerKilledInSetUpIsReplaced) {
  gpu_.emplace(options());
  const pid_t first = *children().begin();
  ::kill(first, SIGSTOP);
  const std::jthread killer([first] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ::kill(first, SIGKILL);
  });
  gpu().setup(cubin(), std::nullopt);
  expect_works();
}

// A worker that died once was the fault of the configuration, for good.
TEST_F(GpuDeviceTest, AWorkerThatDiesOnceCostsNothing) {
  script("crash,once=" + (cubin().parent_path() / "struck").string());
  expect_works();
  EXPECT_EQ(gpu().num_workers_started(), 2);
}

TEST_F(GpuDeviceTest, AWorkerKilledBetweenTrialsCostsNone) {
  expect_works();
  const pid_t worker = *children().begin();
  ::kill(worker, SIGKILL);
  ASSERT_TRUE(within_seconds(60, [&] { return !alive(worker); }));
  expect_works();
  EXPECT_EQ(gpu().num_workers_started(), 2);
}

// Ctrl-Z for a minute must not cost a trial.
TEST_F(GpuDeviceTest, AStoppedWorkerIsNoHang) {
  expect_works();
  const pid_t worker = *children().begin();
  ::kill(worker, SIGSTOP);
  const std::jthread waker([worker] {
    std::this_thread::sleep_for(std::chrono::seconds(4));  // longer than a hang
    ::kill(worker, SIGCONT);
  });
  expect_works();
  EXPECT_EQ(gpu().num_workers_started(), 1);
}

// The watchdog must also end one that no longer reads, whatever fills the socket.
TEST_F(GpuDeviceTest, AWorkerThatDoesNotReadIsAHang) {
  const fs::path deaf = folder_.write("deaf", "#!/bin/sh\nexec sleep 100\n");
  fs::permissions(deaf, fs::perms::owner_all);
  WorkerProcess worker(deaf, 0);
  worker.send(std::string(std::size_t{4} << 20, 'x'));
  EXPECT_EQ(worker.receive(0.3).event, WorkerProcess::Event::timed_out);
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
  patient.hang_timeout_s = 2;  // less than the other takes to end its hang
  GpuDevice other(patient);
  other.setup(cubin(), std::nullopt);
  std::thread hanging([this] { EXPECT_EQ(run("hang").kind, "hang"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const Outcome outcome = other.run(ready());
  hanging.join();
  EXPECT_EQ(outcome.status, Status::correct) << outcome.kind << ": " << outcome.message;
  EXPECT_EQ(other.num_workers_started(), 1);
}

TEST_F(GpuDeviceTest, AMissingCublasIsAnErrorThatNamesIt) {
  TrialRequest request = ready();
  for (ArgPlan& arg : request.plan.args) {
    if (auto* buffer = std::get_if<BufferPlan>(&arg)) buffer->shape = {10, 10};
  }
  request.plan.reference = {ReferencePlan{"gemm",
                                          {{"a", "A"}, {"b", "B"}, {"out", "C"}},
                                          {{"transpose_a", false}, {"transpose_b", false}}}};
  EXPECT_THAT([&] { gpu().run(request); }, testing::ThrowsMessage<Error>(HasSubstr("libcublas")));
  expect_works();
}

TEST_F(GpuDeviceTest, WithoutAGpuTheWorkersSentenceIsTheError) {
  script("no_device");
  EXPECT_THAT([&] { gpu(); }, testing::ThrowsMessage<Error>("the NVIDIA driver finds no GPU"));
}

TEST_F(GpuDeviceTest, AnIndexThatNoGpuHasIsAnErrorThatSaysSo) {
  GpuOptions second = options();
  second.index = 1;
  EXPECT_THAT([&] { GpuDevice device(second); },
              testing::ThrowsMessage<Error>(HasSubstr("no GPU 1")));
}

TEST_F(GpuDeviceTest, AProgramThatIsNoWorkerIsAnError) {
  for (const auto& [program, sentence] :
       {std::pair{"/bin/false", "exit code 1"}, std::pair{"/nowhere/assay", "/nowhere/assay"}}) {
    GpuOptions other = options();
    other.worker_program = program;
    EXPECT_THAT([&] { GpuDevice device(other); },
                testing::ThrowsMessage<Error>(
                    testing::AllOf(StartsWith("GPU 0 cannot be used: "), HasSubstr(sentence))));
  }
}

class LostGpuTest : public GpuDeviceTest {
 protected:
  /// What the next run says, for which there is no GPU any more.
  std::string loss() {
    return message_of<Error>([&] { run("vector_add"); });
  }
};

class LostWithItsWorkers : public LostGpuTest, public testing::WithParamInterface<std::string> {};

TEST_P(LostWithItsWorkers, EndsTheSweepAfterTheLastStart) {
  script(fmt::format("{},counter={}", GetParam(), (folder_.path() / "starts").string()));
  expect_works();
  EXPECT_EQ(run("crash").kind, "crash");  // of both good starts
  EXPECT_THAT(loss(), testing::AllOf(StartsWith("GPU 0 (Fake GPU) is lost: "),
                                     HasSubstr("everything measured so far is stored")));
  EXPECT_EQ(gpu().num_workers_started(), 2 + 3);
}

// A GPU dropped out while its worker was replaced, and what the next GPU took was stored as its.
TEST_F(LostGpuTest, WhereTheIndexIsAnotherGpusNow) {
  script(fmt::format("gpus=2,moves_after=1,counter={}", (folder_.path() / "starts").string()));
  expect_works();
  EXPECT_EQ(run("crash").kind, "crash");
  EXPECT_THAT(loss(), testing::AllOf(StartsWith("GPU 0 (Fake GPU) is lost: it was GPU-"),
                                     HasSubstr("and is another one now: Fake GPU GPU-")));
}

INSTANTIATE_TEST_SUITE_P(Each, LostWithItsWorkers, testing::Values("lost_after=2", "dies_after=2"),
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
/// ended.
int in_child(const fs::path& ready, int signal_number, const std::function<int()>& body) {
  const pid_t pid = start_process(body);
  EXPECT_TRUE(within_seconds(30, [&] { return !read_pids(ready).empty(); }));
  // Into the trial; before it, the signal would meet an easier case.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(pid, signal_number);
  return wait_for(pid);
}

// The time limit would end it as a failure of the trial.
TEST_F(GpuDeviceTest, CtrlCEndsAHangingTrial) {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    const fs::path pids = folder_.path() / fmt::format("pids{}", signal_number);
    const int status = in_child(pids, signal_number, [&] {
      catch_interrupts();
      try {
        gpu();
        std::ofstream(pids) << *children().begin() << std::endl;
        run("hang");
        return kExitDone;
      } catch (const Interrupted&) {
        gpu_.reset();
        return kExitInterrupted;
      }
    });
    EXPECT_EQ(status, kExitInterrupted);
    ASSERT_EQ(read_pids(pids).size(), 1u);
    EXPECT_TRUE(within_seconds(60, [&] { return !alive(read_pids(pids)[0]); }));
  }
}

TEST_F(GpuDeviceTest, AKilledParentTakesItsHangingWorkerAlong) {
  const fs::path pids = folder_.path() / "pids";
  const int status = in_child(pids, SIGKILL, [&] {
    gpu();
    std::ofstream(pids) << *children().begin() << std::endl;
    run("hang");
    return 0;
  });
  EXPECT_EQ(status, -SIGKILL);
  ASSERT_EQ(read_pids(pids).size(), 1u);
  EXPECT_TRUE(within_seconds(60, [&] { return !alive(read_pids(pids)[0]); }));
}

TEST_F(GpuDeviceTest, TheTerminalsCtrlCDoesNotReachTheWorker) {
  expect_works();
  EXPECT_NE(::getpgid(*children().begin()), ::getpgid(0));
}

}  // namespace
}  // namespace assay
