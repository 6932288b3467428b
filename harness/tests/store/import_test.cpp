#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "store/recording_sample.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_EQ(imported.sweep, "gemm_h200");
  EXPECT_EQ(imported.device_name, "NVIDIA H200");
  EXPECT_EQ(describe(store.record("gemm_h200")), describe(sample_recording()));
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
  const std::vector<RankRow> ranks = store.ranks({});
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0].record.identity.candidates, identity.candidates);
}

// If the schema lacked a reason that the code knows, a sweep would end where it first appears.
TEST(Import, AndRecordAreInversesForEveryStopReason) {
  Recording recording = sample_recording();
  recording.trials.clear();
  recording.baselines.resize(1);
  for (int i = 0; to_text(static_cast<StopReason>(i)) != "unknown"; ++i) {
    TrialRecord trial = timed_record(key_of(i));
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

TEST(Import, AndRecordAreInverses) {
  Store store = Store::in_memory();
  store.import(sample_recording());
  EXPECT_EQ(describe(store.record("gemm_h200")), describe(sample_recording()));
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

TEST(Import, ARecordingOpensAsADatabaseToRead) {
  TempFolder folder;
  for (const char* name : {"x.jsonl", "x.jsonl.gz"}) {
    write_recording(sample_recording(), folder / name);
    const Store store = Store::open_readonly(folder / name);
    EXPECT_EQ(store.path(), folder / name);
    EXPECT_EQ(store.trials({}).size(), sample_recording().trials.size());
    EXPECT_EQ(describe(store.record("gemm_h200")), describe(sample_recording()));
  }
}

TEST(Import, ATruncatedGzipFileIsTheUsersMistake) {
  TempFolder folder;
  const std::string packed = written(sample_recording(), "x.jsonl.gz");
  write_file_atomic(folder / "x.jsonl.gz", packed.substr(0, packed.size() / 2));
  EXPECT_THAT(message_of<UsageError>([&] { Store::open_readonly(folder / "x.jsonl.gz"); }),
              HasSubstr("x.jsonl.gz: damaged gzip file"));
}

}  // namespace
}  // namespace assay
