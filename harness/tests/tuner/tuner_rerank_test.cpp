// When the re-rank of a problem is not the last word: what lost unfairly is timed in turn again.

#include "matchers.h"
#include "tuner/tuner.h"
#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

Outcome wrong() { return failed(Status::correctness, "mismatch", "C[7] is 1"); }
Outcome full() { return failed(Status::runtime, "out_of_memory", "full"); }

// The last check comes after the others were left behind. So the verdict had no winner, though nine
// of ten are right.
TEST_F(TunerTest, OthersAreRankedAgainIfTheyLostToWhatTheLastCheckRefuses) {
  device_.edit_reranks([&](const auto&, auto& entries) {
    RerankEntry& fastest = entries.front();
    if (fastest.name != "BLOCK=1") return;
    fastest.outcome = wrong();
    for (RerankEntry& other : entries) other.eliminated = &other != &fastest;
  });
  EXPECT_THAT(run().warnings,
              ElementsAre("N=1000 add BLOCK=1 was dropped by the re-rank: C[7] is 1"));
  ASSERT_THAT(device_.reranked, SizeIs(2));
  EXPECT_EQ(block_of(device_.reranked[1].front().plan.config), 2);
  const std::vector<RankRow> ranks = this->ranks();
  ASSERT_THAT(ranks, SizeIs(1));
  const std::vector<RankEntry>& entries = ranks[0].record.entries;
  EXPECT_EQ(entries.at(0).config, "BLOCK=2");
  EXPECT_TRUE(entries.at(0).winner);
  EXPECT_EQ(entries.back().config, "BLOCK=1");
  EXPECT_EQ(entries.back().failure, "C[7] is 1");
  EXPECT_EQ(ranks[0].record.identity.num_candidates, 9) << "the tenth is stored as wrong";
  ScriptedDevice idle;
  run(idle, compiler_);
  EXPECT_THAT(idle.reranked, IsEmpty());
}

// The fastest was dropped for good, because the GPU's memory had been full for a moment.
TEST_F(TunerTest, WhatTheMachineFailedInTheRerankIsRankedAgain) {
  device_.edit_reranks([&](const auto&, auto& entries) {
    if (device_.reranked.size() == 1) entries[0].outcome = full();
  });
  EXPECT_THAT(run().warnings, IsEmpty());
  ASSERT_THAT(device_.reranked, SizeIs(2));
  EXPECT_EQ(winner().config, "BLOCK=1");
}

// Where it was full for longer, the same command had nothing to do.
TEST_F(TunerTest, WhatTheMachineFailedInTwiceIsRankedByTheSameCommandAgain) {
  const auto in_full = device_.on_rerank;
  device_.edit_reranks([&](const auto&, auto& entries) { entries[0].outcome = full(); });
  EXPECT_THAT(
      run().warnings,
      ElementsAre("N=1000 add BLOCK=1 was dropped by the re-rank: the machine failed: full"));
  EXPECT_EQ(winner().config, "BLOCK=2");
  device_.on_rerank = in_full;
  EXPECT_THAT(run().warnings, IsEmpty());
  EXPECT_EQ(winner().config, "BLOCK=1");
  const std::size_t num_reranked = device_.reranked.size();
  run();
  EXPECT_EQ(device_.reranked.size(), num_reranked);
}

/// The first re-rank that has BLOCK=1 finds it wrong. In others it passes.
class WrongOnce : public TunerTest {
 protected:
  WrongOnce() {
    device_.edit_reranks([this](const auto& candidates, auto& entries) {
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (is_found_ || block_of(candidates[i].plan.config) != 1) continue;
        is_found_ = true;
        entries[i].outcome = wrong();
      }
    });
  }
  bool is_found_ = false;
};

TEST_F(WrongOnce, IsStoredAsWrongAndNeverRankedAgain) {
  run();
  EXPECT_EQ(winner().config, "BLOCK=2");
  expect_wrong({1});
  const std::size_t num_reranked = device_.reranked.size();
  run();
  EXPECT_EQ(device_.reranked.size(), num_reranked) << "the verdict is of what is left";
  sweep_.rerank.rounds += 10;  // another question
  run();
  EXPECT_EQ(device_.reranked.size(), num_reranked + 1);
  EXPECT_EQ(winner().config, "BLOCK=2");
}

// It was refused in its own sweep's verdict, and a moment later won that of all that is stored.
TEST_F(WrongOnce, DoesNotWinAmongAllThatIsStored) {
  sweep_.kernels[0].params[0].values = {Value(std::int64_t{3}), Value(std::int64_t{4})};
  run();
  sweep_.kernels[0].params[0].values = {Value(std::int64_t{1}), Value(std::int64_t{2})};
  sweep_.name = "another";
  run();
  EXPECT_TRUE(is_found_);
  EXPECT_EQ(blocks_of(device_.reranked.back()), (Blocks{2, 3, 4}));
  EXPECT_EQ(winner().config, "BLOCK=2");
}

// The second re-rank, which it passed, took the place of the first.
TEST_F(WrongOnce, IsWrongThoughTheMachineFailedBesideIt) {
  device_.edit_reranks([this](const auto&, auto& entries) {
    if (device_.reranked.size() == 1) entries[1].outcome = full();
  });
  run();
  EXPECT_EQ(winner().config, "BLOCK=2");
}

TEST_F(TunerTest, WhereTheLastCheckRefusesAllNothingWins) {
  device_.edit_reranks([](const auto&, auto& entries) {
    for (RerankEntry& entry : entries) entry.eliminated = true;
    entries[0].eliminated = false;
    entries[0].outcome = wrong();
  });
  EXPECT_THAT(run().warnings, SizeIs(10));
  const std::vector<RankRow> ranks = this->ranks();
  ASSERT_THAT(ranks, SizeIs(1));
  EXPECT_THAT(ranks[0].record.entries, SizeIs(10));
  for (const RankEntry& entry : ranks[0].record.entries) EXPECT_FALSE(entry.winner);
}

// A kernel that made two copies of its code lie apart let its registers decide against a faster
// one: no difference of times counted any longer.
TEST_F(TunerTest, WhereTwoCopiesOfOneCodeLieFarApartNothingWins) {
  device_.on_rerank = [usual = device_.on_rerank](const auto& candidates) {
    RerankResult result = usual(candidates);
    result.duplicate = result.candidates[0];
    for (double& sample_ns : result.duplicate->samples_ns) sample_ns *= 1.6;
    return result;
  };
  EXPECT_THAT(run().warnings,
              ElementsAre(HasSubstr("N=1000: which is best cannot be told: two copies of the same "
                                    "code differ by 60 %, and ")));
  const auto stored = ranks();
  for (const RankEntry& entry : stored.at(0).record.entries) EXPECT_FALSE(entry.winner);
}

// BLOCK=1 and 2 were timed at a high clock, and only the first of them in turn. All others were
// given up at half of it, though BLOCK=3 is faster than these two really are.
TEST_F(TunerTest, WhatLostToATimeThatTheRerankDoesNotConfirmIsTimedAgain) {
  const auto time_ns = [](std::int64_t block) {
    return static_cast<double>(block <= 2 ? 1700 + 300 * block : 1500 + 100 * block);
  };
  sweep_.rerank.top = 1;
  device_.on_run = [&](const TrialRequest& request) {
    const std::int64_t block = block_of(request.plan.config);
    Outcome outcome = timed(block <= 2 ? time_ns(block) / 2 : time_ns(block));
    if (block > 2 && *request.best_ns < 1900) outcome.timing->stop = StopReason::raced;
    return outcome;
  };
  device_.on_rerank = in_turn(time_ns);
  run();
  ASSERT_THAT(device_.reranked, SizeIs(2));
  EXPECT_EQ(blocks_of(device_.reranked[0]), (Blocks{1}));
  ASSERT_THAT(ranks(), SizeIs(1));
  EXPECT_EQ(winner().config, "BLOCK=3");
  EXPECT_TRUE(winner().winner);
}

// A problem of few configurations left the compiler idle while it was re-ranked, and the one behind
// it, with many, held the device up.
TEST_F(TunerTest, WhatIsCompiledWhileTheBestAreReRankedIsOfAllThatFollows) {
  sweep_.problems = {{{"N", 1000}}, {{"N", 2000}}, {{"N", 3000}}};
  int num_ahead = 0;
  compiler_.on_submit = [&](const CompileJob& job) {
    num_ahead += job.is_ahead ? 1 : 0;
    return ScriptedCompiler::ready(ScriptedCompiler::good(job));
  };
  compiler_.threads = 4;
  std::vector<int> at_reranks;
  device_.on_rerank = [&, usual = device_.on_rerank](const auto& candidates) {
    at_reranks.push_back(num_ahead);
    return usual(candidates);
  };
  run();
  EXPECT_THAT(at_reranks, ElementsAre(20, 20, 20));  // ten of each, and none twice
}

}  // namespace
}  // namespace assay::test
