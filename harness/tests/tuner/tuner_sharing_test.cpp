// Two runs of a sweep on one database file.

#include <future>
#include <thread>

#include "matchers.h"
#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

class TunerSharing : public TunerTest {};

// The second run comes to the end of its own work while the first one's device is busy with
// BLOCK=1. Each once ranked only what it had itself, and the last verdict stood.
TEST_F(TunerSharing, WhatAnotherIsRunningIsAwaitedSoThatBothRankAllOfIt) {
  ScriptedDevice other;
  ScriptedCompiler other_compiler;
  SweepReport others;
  std::promise<void> all_but_one;
  other.on_run = [&](const TrialRequest& request) {
    if (other.ran.size() == 9) all_but_one.set_value();
    return timed_by_block(request);
  };
  std::thread second;
  device_.on_run = [&](const TrialRequest& request) {
    if (block_of(request.plan.config) == 1) {
      second = std::thread([&] {
        Store store = Store::open(db());
        Progress progress(Progress::Mode::silent);
        Tuner tuner(sweep_, other, other_compiler, store, progress, {{}, "90a", "", {}, "", false});
        tuner.run();
        others = tuner.report();
      });
      all_but_one.get_future().wait();
    }
    return timed_by_block(request);
  };
  const SweepReport mine = run();
  second.join();
  EXPECT_EQ(blocks_of(device_.ran), Blocks{1});
  EXPECT_EQ(mine.measured, 1u);
  EXPECT_EQ(mine.kept, 9u);
  EXPECT_EQ(blocks_of(other.ran), (Blocks{2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(others.measured, 9u);
  EXPECT_EQ(others.kept, 1u);
  EXPECT_EQ(others.taken, 1u);
  EXPECT_EQ(stored_blocks(), kAllBlocks);
  EXPECT_THAT(sweep_states(), ElementsAre("done", "done"));
  for (const RankRow& row : ranks()) {
    EXPECT_EQ(row.record.identity.num_candidates, 10);
    EXPECT_EQ(row.record.entries.at(0).config, "BLOCK=1");
  }
}

// Both tried again all that had failed, and a crash in the second took a result's place.
TEST_F(TunerSharing, WhatAnotherHasTriedAgainIsNotTriedAgain) {
  device_.on_run = [](const TrialRequest&) { return failed(Status::runtime, "crash"); };
  run();
  device_.ran.clear();
  options_.retry_failed = true;
  ScriptedDevice other;
  device_.on_run = [&](const TrialRequest& request) {
    if (device_.ran.size() == 1) {
      Store store = Store::open(db());
      Progress progress(Progress::Mode::silent);
      Tuner(sweep_, other, compiler_, store, progress, options_).run();
    }
    return timed_by_block(request);
  };
  const SweepReport mine = run();
  EXPECT_THAT(other.ran, SizeIs(10));
  EXPECT_THAT(device_.ran, SizeIs(1));
  EXPECT_EQ(mine.kept, 9u);
  EXPECT_EQ(mine.counts.at({Status::correct, ""}), 10u);
}

}  // namespace
}  // namespace assay::test
