#include "compile/compile_process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>

namespace assay {
namespace {

using End = CompileProcess::End;

constexpr CompileProcess::Limits kNever{1e9, std::uint64_t{1} << 40};

/// The process that this one has started.
pid_t only_child() {
  pid_t child = 0;
  std::ifstream("/proc/self/task/" + std::to_string(::getpid()) + "/children") >> child;
  return child;
}

class CompileProcessTest : public ::testing::Test {
 protected:
  const Nvrtc nvrtc_;
  CompileProcess process_{nvrtc_};
};

Nvrtc::Unit unit(std::string text) { return {"x.cu", std::move(text), {}, {}}; }

TEST_F(CompileProcessTest, OneProcessCompilesManyTimes) {
  for (int i = 0; i < 3; ++i) {
    const auto good = process_.compile({"x.cu",
                                        "#include \"h.cuh\"\n",
                                        {{"h.cuh", "extern \"C\" __global__ void k() {}\n"}},
                                        {"--gpu-architecture=sm_80"}},
                                       kNever);
    EXPECT_EQ(good.end, End::done);
    EXPECT_TRUE(good.output.ok) << good.output.log;
    const auto bad = process_.compile(unit("nothing"), kNever);
    EXPECT_EQ(bad.end, End::done);
    EXPECT_FALSE(bad.output.ok);
    EXPECT_THAT(bad.output.log, ::testing::StartsWith("x.cu(1): error"));
  }
}

// A limit of 4 MB for the child's files once let NVRTC make the file and not read it.
TEST_F(CompileProcessTest, FromTheSecondOnWhatIsIncludedFirstComesFromAFile) {
  Nvrtc::Unit halves = unit("extern \"C\" __global__ void k(__half* x) { *x = TWO; }\n");
  halves.headers.emplace_back("@define", "#define TWO __half(2)\n");
  halves.pre_include = "@define";
  halves.leading_includes = "#include <cuda_fp16.h>\n";
  halves.text = halves.leading_includes + halves.text;
  const auto& toolkit = nvrtc_.toolkit_options();
  halves.options = {"--gpu-architecture=sm_80", "-default-device"};
  halves.options.insert(halves.options.end(), toolkit.begin(), toolkit.end());
  std::vector<CompileProcess::Result> results;
  for (int i = 0; i < 4; ++i) results.push_back(process_.compile(halves, kNever));
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(results[i].output.ok) << results[i].output.log;
    EXPECT_EQ(results[i].output.precompiled, i > 0);
    EXPECT_EQ(results[i].output.cubin, results[0].output.cubin);
    EXPECT_EQ(results[i].output.log, results[0].output.log);
    EXPECT_EQ(std::set(results[i].headers.begin(), results[i].headers.end()),
              std::set(results[0].headers.begin(), results[0].headers.end()));
  }
}

TEST_F(CompileProcessTest, AMessageLargerThanAnyBufferArrives) {
  const auto result =
      process_.compile(unit("//" + std::string(8 << 20, 'x') + "\nnothing\n"), kNever);
  EXPECT_EQ(result.end, End::done);
  EXPECT_THAT(result.output.log, ::testing::StartsWith("x.cu(2): error"));
}

TEST_F(CompileProcessTest, NoTimeIsATimeout) {
  EXPECT_EQ(process_.compile(unit(""), {0, kNever.memory_bytes}).end, End::timeout);
}

// Ctrl-Z for a minute was a timeout, for good.
TEST_F(CompileProcessTest, WhileItIsStoppedNoTimePasses) {
  ASSERT_EQ(process_.compile(unit(""), kNever).end, End::done);
  const pid_t child = only_child();
  ::kill(child, SIGSTOP);
  // Five times the patience later; whether the time suffices from then on is the machine's matter.
  std::atomic<bool> resumed = false;
  std::jthread resume([child, &resumed] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    resumed = true;
    ::kill(child, SIGCONT);
  });
  process_.compile(unit(""), {0.2, kNever.memory_bytes});
  EXPECT_TRUE(resumed);
}

TEST_F(CompileProcessTest, DeathIsNamed) {
  process_.kill();
  const auto result = process_.compile(unit(""), kNever);
  EXPECT_EQ(result.end, End::death);
  EXPECT_EQ(result.cause_of_death, "signal 9 (Killed)");
  EXPECT_TRUE(result.killed);
}

TEST_F(CompileProcessTest, CtrlCIsTheParentsToHandle) {
  EXPECT_EQ(process_.compile(unit(""), kNever).end, End::done);  // it runs
  // As the terminal does: to the whole group, which is this test's own.
  const pid_t group = ::fork();
  if (group == 0) {
    ::setpgid(0, 0);
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);
    bool ok = false;
    {
      CompileProcess inner(nvrtc_);
      ok = inner.compile(unit(""), kNever).end == End::done;
      ::kill(0, SIGINT);
      ::kill(0, SIGTERM);
      ok = ok && inner.compile(unit(""), kNever).end == End::done;
    }
    ::_exit(ok ? 0 : 1);
  }
  int status = -1;
  ::waitpid(group, &status, 0);
  EXPECT_EQ(status, 0);
}

// NVRTC's front end takes the handlers of some signals in its first compile: from then on, SIGTERM
// to the compiler alone was an error of the kernel.
TEST_F(CompileProcessTest, ASignalInTheFirstCompileDoesNotEndIt) {
  const pid_t child = only_child();
  std::jthread sender([child](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::kill(child, number);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  // The first signals come before the child blocks them: the parent, too, waits for its compilers.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(process_.compile(unit("__global__ void k(float* x) { *x = sinf(*x); }"), kNever).end,
              End::done);
  }
}

// A TMPDIR that is not there, or full, once made every kernel one that cannot be compiled.
TEST_F(CompileProcessTest, NeedsNoTmpdir) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere", 1);
  const Nvrtc nvrtc;
  EXPECT_EQ(CompileProcess(nvrtc).compile(unit(""), kNever).end, End::done);
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

TEST_F(CompileProcessTest, TheChildKeepsNoneOfTheParentsDescriptors) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  CompileProcess process(nvrtc_);
  EXPECT_EQ(process.compile(unit(""), kNever).end, End::done);
  ::close(ends[1]);
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);  // end of file: the child holds no copy
  ::close(ends[0]);
}

}  // namespace
}  // namespace assay
