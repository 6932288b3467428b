// Ctrl-C in each phase of a sweep: it ends as interrupted, what is stored stays, and the same
// command goes on from there.
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "matchers.h"
#include "processes.h"
#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

/// As a device ends when the signal arrives while it works.
[[noreturn]] void interrupt_device() {
  ::raise(SIGINT);
  throw Interrupted();
}

class TunerInterrupt : public TunerTest {
 protected:
  TunerInterrupt() { sweep_.kernels[0].baseline = {BaselineSpec{"cublaslt"}}; }

  /// Runs the sweep in a process of its own, because the flag that a signal sets stays set. True
  /// when it ended with Interrupted, with the compiler told to stop.
  bool run_is_interrupted() {
    const pid_t child = start_process([&] {
      ::alarm(300);  // ends a sweep that never looks at the flag
      catch_interrupts();
      try {
        run();
        return 1;
      } catch (const Interrupted&) {
        return compiler_.num_cancelled == 1 ? 0 : 2;
      }
    });
    return wait_for(child) == 0;
  }

  /// Expects the sweep to be interrupted with this stored and nothing ranked, and then, run again
  /// undisturbed, to measure only what is missing.
  void expect_interrupted(const Blocks& stored) {
    ASSERT_TRUE(run_is_interrupted());
    EXPECT_THAT(sweep_states(), ElementsAre("interrupted"));
    EXPECT_EQ(stored_blocks(), stored);
    EXPECT_THAT(ranks(), IsEmpty());
    ScriptedDevice sound;
    ScriptedCompiler compiler;
    const SweepReport report = run(sound, compiler);
    EXPECT_EQ(report.kept, stored.size());
    EXPECT_EQ(report.measured, 10 - stored.size());
    EXPECT_EQ(stored_blocks(), kAllBlocks);
    EXPECT_THAT(sound.reranked, SizeIs(1));
    EXPECT_THAT(sweep_states(), ElementsAre("interrupted", "done"));
    EXPECT_THAT(Store::open_readonly(db()).check(), IsEmpty());
  }
};

TEST_F(TunerInterrupt, WhileTheBaselineIsTimed) {
  device_.on_baselines = [](const auto&, const auto&) -> std::vector<BaselineTiming> {
    interrupt_device();
  };
  expect_interrupted({});
}

TEST_F(TunerInterrupt, WhileATrialRuns) {
  device_.on_run = [](const TrialRequest& request) {
    if (block_of(request.plan.config) == 4) interrupt_device();
    return timed(1000);
  };
  expect_interrupted({1, 2, 3});
}

// The signal arrived as the trial ended: its result is there, and is kept.
TEST_F(TunerInterrupt, AsATrialEndsItsResultIsStored) {
  device_.on_run = [](const TrialRequest& request) {
    if (block_of(request.plan.config) == 4) ::raise(SIGINT);
    return timed(1000);
  };
  expect_interrupted({1, 2, 3, 4});
}

TEST_F(TunerInterrupt, WhileTheDeviceWaitsForTheCompiler) {
  std::promise<CompileResult> never;
  compiler_.on_submit = [&](const CompileJob& job) {
    if (block_of(job.config) == 10) return never.get_future();
    return ScriptedCompiler::ready(ScriptedCompiler::good(job));
  };
  device_.on_run = [](const TrialRequest& request) {
    if (block_of(request.plan.config) == 9) ::raise(SIGINT);  // all that is left is compiling
    return timed(1000);
  };
  expect_interrupted({1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_F(TunerInterrupt, WhileTheBestAreCompiledAgain) {
  std::promise<CompileResult> never;
  compiler_.on_submit = [&](const CompileJob& job) {
    if (compiler_.num_submitted <= 10) return ScriptedCompiler::ready(ScriptedCompiler::good(job));
    ::raise(SIGINT);
    return never.get_future();
  };
  expect_interrupted(kAllBlocks);
}

TEST_F(TunerInterrupt, WhileTheBestAreRanked) {
  device_.on_rerank = [](const std::vector<TrialRequest>&) -> RerankResult { interrupt_device(); };
  expect_interrupted(kAllBlocks);
}

}  // namespace
}  // namespace assay::test
