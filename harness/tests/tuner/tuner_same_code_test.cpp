// Configurations whose machine code is the same.

#include "matchers.h"
#include "tuner/tuner.h"
#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

/// HINT changes neither code nor launch, and BLOCK only the launch.
class SameCode : public TunerTest {
 protected:
  SameCode() {
    load_with("BLOCK: [1, 2], HINT: [1, 2, 3]");
    compiler_.on_submit = [](const CompileJob& job) {
      CompileResult result = ScriptedCompiler::good(job);
      result.report.cubin_hash = "c0de";
      return ScriptedCompiler::ready(result);
    };
  }
};

TEST_F(SameCode, IsRunOnceAndIsOneCandidate) {
  const SweepReport report = run();
  EXPECT_EQ(blocks_of(device_.ran), (Blocks{1, 2}));
  EXPECT_EQ(report.measured, 6u);
  EXPECT_EQ(report.same_code, 4u);
  std::multiset<std::string> says;
  for (const TrialRow& row : trials()) {
    const Outcome& outcome = row.record.outcome;
    ASSERT_EQ(outcome.status, Status::correct);
    EXPECT_EQ(outcome.timing->median_ns, 1e3 * static_cast<double>(block_of(row.record.config)));
    says.insert(outcome.same_as);
  }
  EXPECT_EQ(says, (std::multiset<std::string>{"", "", "BLOCK=1,HINT=1", "BLOCK=1,HINT=1",
                                              "BLOCK=2,HINT=1", "BLOCK=2,HINT=1"}));
  EXPECT_THAT(Store::open_readonly(db()).check(), IsEmpty());
  ASSERT_THAT(device_.reranked, SizeIs(1));
  ASSERT_THAT(device_.reranked[0], SizeIs(2));
  EXPECT_EQ(to_text(device_.reranked[0][0].plan.config), "BLOCK=1,HINT=1");
  const Results results = Store::open_readonly(db()).results({});
  ASSERT_THAT(results.ranks, SizeIs(1));
  EXPECT_EQ(results.ranks[0].record.identity.num_candidates, 6);
}

// What the re-rank refused won in the same verdict under its other name.
TEST_F(SameCode, IsWrongUnderEachName) {
  device_.edit_reranks([](const auto&, auto& entries) {
    for (RerankEntry& entry : entries) {
      if (entry.name != "BLOCK=1,HINT=1") continue;
      entry.outcome = failed(Status::correctness, "mismatch");
      for (RerankEntry& other : entries) other.eliminated = &other != &entry;
    }
  });
  run();
  EXPECT_EQ(blocks_of(device_.reranked.back()), (Blocks{2}));
  expect_wrong({1});
  EXPECT_EQ(Store::open_readonly(db()).results({}).ranks.at(0).record.entries.at(0).config,
            "BLOCK=2,HINT=1");
}

TEST_F(SameCode, IsCountedOnce) {
  sweep_.rerank.objective = parse_objective("minimize dram_read").value();
  run();
  EXPECT_EQ(blocks_of(device_.counted), (Blocks{1, 2}));
  for (const TrialRow& row : trials()) {
    EXPECT_THAT(row.record.measurements, SizeIs(1)) << to_text(row.record.config);
  }
}

// An older Assay, or another sweep's process beside this one, may have run both.
TEST_F(SameCode, IsOneCandidateEvenIfEachWasRun) {
  options_.provenance = "recorded";  // a recording answers for each
  run();
  EXPECT_THAT(device_.ran, SizeIs(6));
  ASSERT_THAT(device_.reranked, SizeIs(1));
  EXPECT_THAT(device_.reranked[0], SizeIs(2));
}

// A fault that one run in three finds is no less likely to be found.
TEST_F(SameCode, IsRunAgainWhereOneFaultedOrWasHeldDown) {
  device_.on_run = [](const TrialRequest& request) {
    if (block_of(request.plan.config) == 1) {
      return failed(Status::runtime, "illegal_address");
    }
    Outcome outcome = timed(1000);
    outcome.timing->num_throttled = 1;
    return outcome;
  };
  EXPECT_EQ(run().same_code, 0u);
  EXPECT_THAT(device_.ran, SizeIs(6));
}

// A kernel that is wrong now and then passed under another name, in this sweep or a later one.
TEST_F(SameCode, IsNotTriedAgainWhereOneWasWrong) {
  device_.on_run = [&](const TrialRequest& request) {
    const bool is_first = device_.ran.size() == 1;
    return is_first ? failed(Status::correctness, "mismatch") : timed_by_block(request);
  };
  run();
  EXPECT_EQ(blocks_of(device_.ran), (Blocks{1, 2}));
  sweep_.kernels[0].params[1].values.emplace_back(std::int64_t{4});
  run();
  EXPECT_EQ(blocks_of(device_.ran), (Blocks{1, 2}));
  expect_wrong({1});
  for (const TrialRow& row : trials()) {
    EXPECT_EQ(row.record.outcome.same_as.empty(),
              std::get<std::int64_t>(row.record.config[1].second) == 1);
  }

  options_.retry_failed = true;
  run();
  EXPECT_EQ(blocks_of(device_.ran), (Blocks{1, 1, 2}));
  EXPECT_EQ(Store::open_readonly(db()).results({}).ranks.at(0).record.entries.at(0).config,
            "BLOCK=1,HINT=1");
}

}  // namespace
}  // namespace assay::test
