#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "compile/nvrtc_compiler_fixture.h"
#include "held_time_zone.h"
#include "matchers.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// The compiler's process could not send it, and was said to have died.
TEST_F(NvrtcCompilerTest, MachineCodeThatIsTooLargeIsRefused) {
  const CompileResult result = compile(job(large_kernel(65 << 20)));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log,
              StartsWith("x.cu: expected at most 33554432 bytes of machine code, found "));
}

TEST_F(NvrtcCompilerTest, ACompileHasALimitAndHoldsUpNobody) {
  // NVRTC cannot be stopped in its front end. There it holds a lock that other compiles in its
  // process need. What follows must not wait for it.
  options_.num_threads = 1;
  options_.timeout_s = 0.5;
  for (const CompileJob& endless : {job(kSlow, 16), job(kEndless, 1, "y.cu")}) {
    NvrtcCompiler compiler(options_);
    const CompileResult result = compiler.submit(endless).get();
    EXPECT_FALSE(result.ok);
    EXPECT_EQ(result.kind, "timeout");
    EXPECT_EQ(result.log, "compile took longer than its limit of 0.5 s");
    bool ok = false;
    // On a busy machine even a short compile may take longer than the limit.
    for (int i = 0; i < 100 && !ok; ++i) {
      ok = compiler.submit(job("extern \"C\" __global__ void k() {}\n", 1, "z.cu")).get().ok;
    }
    EXPECT_TRUE(ok);
  }
}

/// A process that a thread of this one has started, beside another; 0: there is none.
pid_t any_child(pid_t but = 0) {
  for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
    pid_t child = 0;
    std::ifstream(thread.path() / "children") >> child;
    if (child != 0 && child != but) return child;
  }
  return 0;
}

/// Does what the system does where memory is short: kills the process that compiles, once there is
/// one that is not `killed_before`.
pid_t kill_compiler(pid_t killed_before = 0) {
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
    const pid_t child = any_child(killed_before);
    if (child == 0) continue;
    ::kill(child, SIGKILL);
    return child;
  }
}

// One of 200 sweeps of which most was in the cache waited a minute for a compiler, and said of its
// source that it takes too long: NVRTC asks for the time of day, and another thread was just asking
// for it when the compiler's process was forked.
TEST_F(NvrtcCompilerTest, ACompilerThatWaitsForALockOfItsParentIsReplaced) {
  HeldTimeZone zone;
  options_.num_threads = 1;
  options_.timeout_s = 6;
  NvrtcCompiler compiler(options_);
  auto result = compiler.submit(job("extern \"C\" __global__ void k() {}\n"));
  while (any_child() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  zone.release();
  EXPECT_TRUE(result.get().ok);
}

TEST_F(NvrtcCompilerTest, ACompilerThatWaitsTwiceHasAllOfItsTime) {
  const HeldTimeZone zone;
  options_.timeout_s = 1.2;
  const CompileResult result = compile(job("extern \"C\" __global__ void k() {}\n"));
  EXPECT_EQ(result.kind, "timeout");
  EXPECT_EQ(result.log, "compile took longer than its limit of 1.2 s");
}

TEST_F(NvrtcCompilerTest, AKilledCompilerIsTriedOnceMore) {
  NvrtcCompiler compiler(options_);
  std::future<CompileResult> future = compiler.submit(job(kSlow, 1));
  kill_compiler();
  EXPECT_TRUE(future.get().ok);
}

TEST_F(NvrtcCompilerTest, ACompilerThatIsKilledTwiceIsNoErrorOfTheKernel) {
  NvrtcCompiler compiler(options_);
  std::future<CompileResult> future = compiler.submit(job(kEndless));
  kill_compiler(kill_compiler());
  const CompileResult result = future.get();
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.kind, "killed");
  EXPECT_EQ(result.log, "the compiler died of signal 9 (Killed)");
}

TEST_F(NvrtcCompilerTest, ACompileThatFillsTheMemoryIsStopped) {
  options_.memory_bytes = 200 << 20;
  const CompileResult result = compile(job(large_kernel(1 << 30)));
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.kind, "memory");
  EXPECT_THAT(result.log, StartsWith("compile took more memory than its limit of 200 MiB, "));
}

TEST_F(NvrtcCompilerTest, CancelAnswersEverybodyAndTheCompilerStaysUsable) {
  options_.num_threads = 1;
  for (const char* text : {kSlow, kEndless}) {
    NvrtcCompiler compiler(options_);
    std::vector<std::future<CompileResult>> futures;
    const CompileJob slow = job(text);
    for (int i = 0; i < 5; ++i) futures.push_back(compiler.submit(slow));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // let one start
    compiler.cancel();
    for (auto& future : futures) {
      const CompileResult result = future.get();
      EXPECT_FALSE(result.ok);
      EXPECT_EQ(result.kind, "error");
      EXPECT_EQ(result.log, "compile cancelled");
    }
    EXPECT_TRUE(compiler.submit(job(kGood)).get().ok);
  }
}

TEST_F(NvrtcCompilerTest, TheDestructorCancelsAndLeavesNoProcess) {
  std::vector<std::future<CompileResult>> futures;
  {
    NvrtcCompiler compiler(options_);
    CompileJob endless = job(kEndless);  // written once: a compiler may be reading it
    for (std::int64_t threads = 1; threads <= 4; ++threads) {
      endless.config = {{"THREADS", threads}};
      futures.push_back(compiler.submit(endless));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // let two start
  }
  for (auto& future : futures) EXPECT_FALSE(future.get().ok);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no children
}

}  // namespace
}  // namespace assay
