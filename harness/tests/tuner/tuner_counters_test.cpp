// What the GPU counts in a sweep: of finalists, or of all where an objective reads it.

#include "base/error.h"
#include "matchers.h"
#include "tuner/tuner.h"
#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

TEST_F(TunerTest, CountsOfTheFinalistsWhatTheSweepAsksFor) {
  sweep_.rerank.top = 3;
  device_.edit_reranks([](const auto&, auto& entries) {
    for (std::size_t i = 3; i < entries.size(); ++i) entries[i].eliminated = true;
  });
  run();
  EXPECT_THAT(device_.counted, IsEmpty());  // it asks for nothing
  sweep_.measure.counters = {"dram_read", "dram_write"};
  run();
  EXPECT_EQ(blocks_of(device_.counted), (Blocks{1, 2, 3}));
  EXPECT_EQ(device_.ran.size(), 10u);
  const Store store = Store::open_readonly(db());
  for (const auto& rows : {store.trials({}), store.results({}).trials}) {
    for (const TrialRow& row : rows) {
      const bool is_finalist = block_of(row.record.config) <= 3;
      EXPECT_THAT(row.record.measurements, SizeIs(is_finalist ? 2 : 0));
      EXPECT_EQ(row.record.measurements, store.trial(row.id)->record.measurements);
    }
  }
  run();
  EXPECT_EQ(device_.counted.size(), 3u);  // it is there
  sweep_.measure.counters = {"dram_read", "issue_busy"};
  device_.on_count = [](const auto&, const auto&) -> std::vector<Measurement> {
    throw Error("nothing was counted: no CUPTI");
  };
  EXPECT_THAT(run().warnings, ElementsAre("nothing was counted: no CUPTI"));
  EXPECT_EQ(device_.counted.size(), 4u);  // nor would it have counted the others
}

/// Has each BLOCK=b read 1000 - b bytes, so that the slowest reads least.
void count_less_of_larger_blocks(ScriptedDevice& device) {
  device.on_count = [](const TrialRequest& request, const std::vector<std::string>& names) {
    const double value = 1000 - static_cast<double>(100 * block_of(request.plan.config));
    std::vector<Measurement> values;
    for (const std::string& name : names) values.push_back({name, value, "B"});
    return values;
  };
}

TEST_F(TunerTest, CountsAllWhereTheObjectiveReadsACounter) {
  count_less_of_larger_blocks(device_);
  run();  // by time, without counting
  EXPECT_THAT(device_.counted, IsEmpty());
  EXPECT_TRUE(device_.ran.back().best_ns.has_value());
  sweep_.rerank.top = 2;
  sweep_.rerank.objective = parse_objective("minimize dram_read").value();
  const SweepReport report = run();
  EXPECT_EQ(report.kept, 10u);
  EXPECT_EQ(blocks_of(device_.counted), kAllBlocks);
  EXPECT_EQ(blocks_of(device_.reranked.back()), (Blocks{9, 10}));
  run();
  EXPECT_THAT(device_.counted, SizeIs(10)) << "what is there is not counted again";

  // Another sweep's trials are candidates, too, and are counted for it.
  sweep_.search.budget_configs = 4;
  std::filesystem::remove(db());
  sweep_.rerank.objective = {};
  run();
  sweep_.rerank.objective = parse_objective("minimize dram_read").value();
  sweep_.name = "other";
  sweep_.search.seed = 3;
  ScriptedDevice other;
  count_less_of_larger_blocks(other);
  run(other, compiler_);
  EXPECT_EQ(blocks_of(other.counted), stored_blocks());
  for (const TrialRow& row : trials()) {
    EXPECT_THAT(row.record.measurements, SizeIs(1)) << to_text(row.record.config);
  }
}

TEST_F(TunerTest, SearchesForLeastOfACounter) {
  count_less_of_larger_blocks(device_);
  search_by(Strategy::model, 9);
  sweep_.rerank.objective = parse_objective("time; minimize dram_read").value();
  run();
  EXPECT_THAT(device_.counted, SizeIs(9));
  EXPECT_FALSE(device_.ran.back().best_ns.has_value()) << "a slower one may be on the list";
  const std::vector<RankRow> ranks = this->ranks();
  ASSERT_THAT(ranks, SizeIs(1));
  for (const RankEntry& entry : ranks[0].record.entries) {
    ASSERT_THAT(entry.figures, SizeIs(1)) << entry.config;
    EXPECT_EQ(entry.figures[0].first, "dram_read");
  }
}

TEST_F(TunerTest, WhatCannotBeCountedCannotWin) {
  count_less_of_larger_blocks(device_);
  device_.on_count = [usual = device_.on_count](const TrialRequest& request, const auto& names) {
    if (block_of(request.plan.config) == 10) throw Error("nothing was counted: timeout: hang");
    return usual(request, names);
  };
  sweep_.rerank.top = 2;
  sweep_.rerank.objective = parse_objective("minimize dram_read").value();
  EXPECT_THAT(
      run().warnings,
      ElementsAre("a trial that was not counted cannot win: nothing was counted: timeout: hang"));
  EXPECT_EQ(blocks_of(device_.reranked.back()), (Blocks{8, 9}));
}

TEST_F(TunerTest, SaysBeforeAnythingRunsThatItCannotCount) {
  sweep_.rerank.objective = parse_objective("minimize dram_read").value();
  device_.on_countable = [](const auto&) { return std::vector<std::string>(); };
  EXPECT_THAT(
      [&] { run(); },
      ThrowsMessage<Error>("the objective reads dram_read, which Scripted GPU does not count"));
  EXPECT_THROW((options_.provenance = "recorded", run()), UsageError);
  EXPECT_THAT(device_.ran, IsEmpty());
  EXPECT_THAT(sweep_states(), IsEmpty());
  options_.compile_only = true;  // nothing would be counted anyway
  EXPECT_EQ(run().measured, 10u);
}

}  // namespace
}  // namespace assay::test
