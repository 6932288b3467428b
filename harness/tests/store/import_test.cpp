#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "matchers.h"
#include "store/recording_sample.h"

namespace assay {
namespace {

TEST(Import, MarksRowsWithTheirOriginAndAddsThemOnce) {
  Store store = Store::in_memory();
  store.import(sample_recording());
  store.import(sample_recording());
  const auto rows = store.trials({});
  ASSERT_EQ(rows.size(), sample_recording().trials.size());
  EXPECT_EQ(rows[0].provenance, "recorded on NVIDIA H200, 2026-11-21");
  EXPECT_EQ(describe(store.trial(rows[0].id).value().record),
            describe(sample_recording().trials[0]));
  EXPECT_EQ(store.ranks({}).at(0).provenance, rows[0].provenance);
  EXPECT_EQ(store.baselines({}).size(), 1u);
  EXPECT_THAT(store.check(), IsEmpty());
}

TEST(Import, InPortionsIsTheSame) {
  TempFolder folder;
  write_recording(sample_recording(), folder / "x.jsonl");
  Store store = Store::in_memory();
  const Imported imported = store.import(read_portions(folder / "x.jsonl", 1));
  EXPECT_EQ(imported.num_trials, sample_recording().trials.size());
  EXPECT_EQ(imported.num_known, 0u);
  EXPECT_EQ(imported.sweep, "gemm_h200");
  EXPECT_EQ(imported.device_name, "NVIDIA H200");
  EXPECT_EQ(describe(store.record("gemm_h200")), describe(sample_recording()));
}

// Old times, exported under the version that the kernel has now, were stale no more.
TEST(Import, AReplayOfAKernelAsItWasIsNotRecorded) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store, "s", "recorded on NVIDIA H200, 2026-11-21");
  store.finish(sweep, timed_record(key_of(1)));
  EXPECT_EQ(store.record("s").trials.size(), 1u);
  const std::int64_t old = begin(store, "old",
                                 "recorded on NVIDIA H200, 2026-11-21, stale: gemm has changed "
                                 "since");
  store.finish(old, timed_record(key_of(1)));
  EXPECT_THAT(message_of<UsageError>([&] { store.record("old"); }),
              HasSubstr("stale: gemm has changed since"));
}

// The second of two recordings of a day was counted, and nothing of it was stored.
TEST(Import, KeepsWhatTellsMore) {
  Recording first = sample_recording();
  first.ranks.clear();
  first.trials = {timed_record(key_of(1)), timed_record(key_of(2)), timed_record(key_of(3))};
  Recording second = first;
  second.trials[0].outcome = {Status::correctness, "mismatch", "C[7] is 1", {}, {}, 0};
  second.trials[0].finished_at = "2020-01-01T00:00:00Z";  // wrong once is wrong
  second.trials[1].outcome.timing = timing_of({77, 77, 77});
  second.trials[1].finished_at = "2030-01-01T00:00:00Z";
  second.trials[2].outcome.timing = timing_of({77, 77, 77});
  second.trials[2].finished_at = "2020-01-01T00:00:00Z";
  const double third_ns = first.trials[2].outcome.timing->median_ns;
  Store store = Store::in_memory();
  store.import(first);
  const auto holds = [&] {
    const std::vector<TrialRow> rows = store.trials({});
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0].record.outcome.status, Status::correctness);
    EXPECT_EQ(rows[1].record.outcome.timing->median_ns, 77);
    EXPECT_EQ(rows[2].record.outcome.timing->median_ns, third_ns);
  };
  const Imported imported = store.import(second);
  EXPECT_EQ(imported.num_known, 3u);
  EXPECT_EQ(imported.num_replaced, 2u);
  holds();
  EXPECT_EQ(store.import(second).num_replaced, 0u);
  store.import(first);
  holds();
  EXPECT_THAT(store.check(), IsEmpty());
}

TEST(Import, OfADamagedRecordingAddsNothing) {
  TempFolder folder;
  write_file_atomic(folder / "x.jsonl", written(sample_recording()) + "{}\n");
  Store store = Store::in_memory();
  const auto import = [&] { store.import(read_portions(folder / "x.jsonl", 1)); };
  EXPECT_THAT(message_of<UsageError>(import), HasSubstr(": neither a trial"));
  EXPECT_THAT(store.trials({}), IsEmpty());
  EXPECT_THAT(store.sweeps(), IsEmpty());
}

// Older recordings do not say which candidates a verdict is of.
TEST(Import, FindsTheCandidatesOfAnOlderVerdict) {
  Recording older = sample_recording();
  const RankIdentity identity = older.ranks.at(0).identity;
  older.ranks.resize(1);
  older.ranks[0].identity = {};
  older.ranks[0].finished_at = "2026-11-22T11:00:00Z";  // after the trials
  Store store = Store::in_memory();
  store.import(older);
  store.import(older);
  EXPECT_EQ(store.ranks({}).size(), 1u);
  const std::vector<RankRow> ranks = store.results({}).ranks;
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].record.identity.candidates, identity.candidates);
}

// A trial that came after an older verdict was once among its candidates, and the verdict was shown
// as one on all of them.
TEST(Import, AnOlderVerdictIsNotOnWhatCameAfterIt) {
  Recording older = sample_recording();
  older.ranks.resize(1);
  older.ranks[0].identity = {};
  older.ranks[0].finished_at = "2026-11-22T11:00:00Z";
  const auto is_timed = [](const TrialRecord& trial) { return trial.outcome.timing.has_value(); };
  const auto late = std::find_if(older.trials.begin(), older.trials.end(), is_timed);
  ASSERT_NE(late, older.trials.end());
  late->finished_at = "2026-11-22T12:00:00Z";
  Store store = Store::in_memory();
  store.import(older);
  EXPECT_THAT(store.ranks({}), SizeIs(1));
  EXPECT_THAT(store.results({}).ranks, IsEmpty());
}

// Verdicts were once stored as they were read, and lost where their trials stand behind them.
TEST(Import, TheOrderOfRecordsMakesNoDifference) {
  Recording verdicts = sample_recording(), rest = verdicts;
  verdicts.trials.clear();
  rest.ranks.clear();
  std::vector<Recording> portions = {rest, verdicts};  // from the last
  Store in_order = Store::in_memory(), store = Store::in_memory();
  in_order.import(sample_recording());
  store.import([&]() -> std::optional<Recording> {
    if (portions.empty()) return std::nullopt;
    Recording portion = std::move(portions.back());
    portions.pop_back();
    return portion;
  });
  ASSERT_FALSE(in_order.results({}).ranks.empty());
  EXPECT_EQ(store.results({}).ranks.size(), in_order.results({}).ranks.size());
}

// If the schema lacked a reason that the code knows, a sweep would end where it first appears.
TEST(Import, AndRecordAreInversesForEveryStopReason) {
  Recording recording = sample_recording();
  recording.trials.clear();
  recording.baselines.resize(1);
  for (int i = 0; to_text(static_cast<StopReason>(i)) != "unknown"; ++i) {
    TrialRecord trial = recorded_trial(key_of(i));
    trial.outcome.timing->stop = static_cast<StopReason>(i);
    recording.trials.push_back(trial);
    BaselineRecord baseline = recording.baselines[0];
    baseline.timing.stop = static_cast<StopReason>(i);
    baseline.name += fmt::format("_{}", i);
    recording.baselines.push_back(baseline);
  }
  EXPECT_GE(recording.trials.size(), 5u);
  CandidateSet candidates;
  for (const TrialRecord& trial : recording.trials) candidates.add(trial);
  for (RankRecord& rank : recording.ranks) {
    rank.identity.candidates = candidates.hash();
    rank.identity.num_candidates = static_cast<std::int64_t>(candidates.size());
  }
  Store store = Store::in_memory();
  store.import(recording);
  EXPECT_EQ(describe(store.record("gemm_h200")), describe(recording));
  TempFolder folder;
  write_recording(recording, folder / "x.jsonl");
  EXPECT_EQ(describe(read_recording(folder / "x.jsonl")), describe(recording));
}

TEST(Import, MeasuredResultsAreRecordedBeforeReplayedOnes) {
  Store store = Store::in_memory();
  const std::int64_t live = store.begin_sweep("gemm_h200", "", "", h200(), "");
  store.finish(live, timed_record(key_of(7)));
  store.import(sample_recording());
  const Recording recording = store.record("gemm_h200");
  ASSERT_EQ(recording.trials.size(), 1u);
  EXPECT_EQ(describe(recording.trials[0]), describe(timed_record(key_of(7))));
}

}  // namespace
}  // namespace assay
