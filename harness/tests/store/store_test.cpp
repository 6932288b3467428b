#include "store/store.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "matchers.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

std::vector<std::string> configs(const std::vector<TrialRow>& rows) {
  std::vector<std::string> texts;
  for (const TrialRow& row : rows) texts.push_back(to_text(row.record.config));
  return texts;
}

/// Expects of a store that it gives back what it gets, with every digit.
void expect_kept(const TrialRecord& record) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store);
  store.finish(sweep, record);
  EXPECT_EQ(describe(store.find(sweep, key_of(1)).value()), describe(record));
}

TEST(Store, EveryStatusComesBackAsStored) {
  int num_statuses = 0;
  for (; to_text(static_cast<Status>(num_statuses)) != "unknown"; ++num_statuses) {
    expect_kept(record_of(key_of(1), {static_cast<Status>(num_statuses), "kind", "why", {}, {}}));
  }
  EXPECT_GE(num_statuses, 7);
}

TEST(Store, TimesAndFiguresComeBackToTheLastBit) {
  TrialRecord record = timed_record(key_of(1));
  record.outcome.timing->samples_ns[2] = std::nextafter(990.3, 991);
  expect_kept(record);
}

// SQLite has no NaN and turns it into NULL; an output full of NaN has a relative error of NaN, and
// a median of fewer than six samples has no interval.
TEST(Store, NumbersThatAreNoneComeBack) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Validation odd{nan, 0.01, std::numeric_limits<double>::infinity(), 4, "kernel ref of r.cu"};
  expect_kept(record_of(key_of(1), {Status::correctness, "", "", odd, timing_of({5, 6})}));
}

TEST(Store, KeepsTextThatIsLongOrForeignOrHoldsNul) {
  Store store = Store::in_memory();
  const std::string text = "größer als 48 КБ: 共享内存 \xf0\x9f\x98\x80" + std::string(1, '\0') +
                           "'); --" + std::string(100'000, 'x');
  const TrialRecord record = record_of(key_of(1), {Status::compile, "", text});
  expect_kept(record);
  store.finish(begin(store), record);
  EXPECT_LE(store.trials({}).at(0).record.outcome.message.size(), 4000u)
      << "a listing holds no whole logs";
}

TEST(Store, ListsTimesWithoutSamples) {
  Store store = Store::in_memory();
  store.finish(begin(store), timed_record(key_of(1)));
  const Timing timing = store.trials({}).at(0).record.outcome.timing.value();
  EXPECT_THAT(timing.samples_ns, ElementsAre());
  EXPECT_EQ(timing.median_ns, timed_record(key_of(1)).outcome.timing->median_ns);
}

TEST(Store, AnyDifferenceInTheKeyIsAnotherTrial) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store);
  store.finish(sweep, timed_record(key_of(1)));
  const std::vector<std::function<void(TrialKey&)>> changes = {
      [](TrialKey& key) { key.kernel.source_hash = "edited"; },
      [](TrialKey& key) { key.kernel.contract_hash = "edited"; },
      [](TrialKey& key) { key.toolchain.nvrtc = "13.1"; },
      [](TrialKey& key) { key.toolchain.arch = "90"; },
      [](TrialKey& key) { key.toolchain.options = "-G"; },
      [](TrialKey& key) { key.toolchain.driver = "581"; },
      [](TrialKey& key) { key.protocol.name = "hot"; },
      [](TrialKey& key) { key.protocol.precision_ratio = 0.01; },
      [](TrialKey& key) { key.problem[0].second = 32; },
      [](TrialKey& key) { key.config[1].second = "column"; }};
  for (const auto& change : changes) {
    TrialKey key = key_of(1);
    change(key);
    EXPECT_EQ(store.find(sweep, key), std::nullopt);
    EXPECT_EQ(store.claim(sweep, key), Claim::fresh);
  }
  EXPECT_EQ(store.claim(sweep, key_of(1)), Claim::done);
}

TEST(Store, ReplayedAndMeasuredResultsNeverMeet) {
  Store store = Store::in_memory();
  const std::int64_t replay = begin(store, "sweep", "recorded on NVIDIA H200, 2026-11-21");
  store.finish(replay, timed_record(key_of(1)));
  const std::int64_t live = begin(store);
  EXPECT_EQ(store.find(live, key_of(1)), std::nullopt);
  EXPECT_EQ(store.claim(live, key_of(1)), Claim::fresh);
}

TEST(Store, TheFirstResultOfATrialStays) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store);
  store.finish(sweep, timed_record(key_of(1)));
  store.finish(sweep, record_of(key_of(1)));
  EXPECT_TRUE(store.find(sweep, key_of(1)).value().outcome.timing.has_value());
}

TEST(Store, AResultBelongsToEverySweepThatAskedForIt) {
  Store store = Store::in_memory();
  store.finish(begin(store, "first"), timed_record(key_of(1)));
  const std::int64_t second = begin(store, "second");
  EXPECT_EQ(store.claim(second, key_of(1)), Claim::done);
  EXPECT_EQ(store.trials({.sweep = "second"}).size(), 1u);
  EXPECT_EQ(store.record("second").trials.size(), 1u);
  EXPECT_TRUE(store.trials({.sweep = "third"}).empty());
}

TEST(Store, FiltersSelectByEveryField) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store, "a");
  store.finish(sweep, timed_record(key_of(1)));
  TrialKey other = key_of(2);
  other.kernel = {"scan", "scan_f32", "s", "c"};
  other.problem = {{"M", 16}, {"N", 8}};
  store.finish(sweep, record_of(other, {Status::timeout}));

  const auto only = [&](auto Filter::*field, const auto& value) {
    Filter filter;
    filter.*field = value;
    return configs(store.trials(filter));
  };
  const std::string first = to_text(key_of(1).config), second = to_text(other.config);
  EXPECT_THAT(only(&Filter::op, "gemm_bf16"), ElementsAre(first));
  EXPECT_THAT(only(&Filter::kernel, "scan"), ElementsAre(second));
  EXPECT_THAT(only(&Filter::status, Status::timeout), ElementsAre(second));
  EXPECT_THAT(only(&Filter::device, "NVIDIA H200"), ElementsAre(first, second));
  EXPECT_THAT(only(&Filter::device, "nvidia_h200"), ElementsAre(first, second));
  EXPECT_THAT(only(&Filter::device, "nvidia_a100"), ElementsAre());
  EXPECT_THAT(only(&Filter::problem, "M=16"), ElementsAre(first, second));
  EXPECT_THAT(only(&Filter::problem, "N=4096,M=16"), ElementsAre(first));
  EXPECT_THAT(only(&Filter::problem, "M=16,K=1"), ElementsAre());
}

TEST(Store, TheNewestBaselineIsTheAnswerAndEveryVerdictIsKept) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store);
  const BaselineRecord best = baseline_of("cublaslt_best", "2026-11-21T10:00:00Z");
  store.add_baseline(sweep, baseline_of("cublaslt", "2026-11-21T09:00:00Z"));
  const BaselineRecord first = baseline_of("cublaslt", "2026-11-21T10:00:00Z");
  store.add_baseline(sweep, first);
  store.add_baseline(sweep, best);
  store.add_rank(sweep, rank_of("2026-11-21T09:00:00Z"));
  store.add_rank(sweep, rank_of("2026-11-21T10:00:00Z"));

  const auto baselines = store.baselines({});
  ASSERT_EQ(baselines.size(), 2u);
  EXPECT_EQ(describe(baselines[0].record), describe(first));
  EXPECT_EQ(describe(baselines[1].record), describe(best));
  const auto ranks = store.ranks({});
  ASSERT_EQ(ranks.size(), 2u) << "every verdict stays";
  EXPECT_EQ(describe(ranks[1].record), describe(rank_of("2026-11-21T10:00:00Z")));

  EXPECT_TRUE(store.baselines({.op = "another"}).empty());
  EXPECT_TRUE(store.ranks({.op = "another"}).empty());
}

TEST(Store, RanksOfDevicesProtocolsAndObjectivesStandSideBySide) {
  Store store = Store::in_memory();
  store.add_rank(begin(store), rank_of("2026-11-21T10:00:00Z"));
  store.add_rank(begin(store, "s", "recorded on NVIDIA H200, 2026-01-01"),
                 rank_of("2026-11-21T11:00:00Z"));
  RankRecord hot = rank_of("2026-11-21T12:00:00Z");
  hot.protocol.name = "hot";
  store.add_rank(begin(store), hot);
  RankRecord frugal = rank_of("2026-11-21T13:00:00Z");
  frugal.objective = Objective::energy;
  store.add_rank(begin(store), frugal);
  RankRecord metric = rank_of("2026-11-21T14:00:00Z");
  metric.objective = parse_objective("time; minimize registers * 1.5").value();
  metric.identity.objective = metric.objective;
  metric.entries[0].figures = {{"registers", std::int64_t{32}}, {"skew", 0.1}};
  store.add_rank(begin(store), metric);
  ASSERT_EQ(store.ranks({}).size(), 5u);
  EXPECT_EQ(store.ranks({})[3].record.objective, Objective::energy);
  EXPECT_EQ(describe(store.ranks({})[4].record), describe(metric));
}

TEST(Store, RecordKeepsOnlyTheNewestVersionOfAKernel) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store);
  TrialRecord old = timed_record(key_of(1));
  old.finished_at = "2026-11-20T10:00:00Z";
  old.kernel.source_hash = "before the edit";
  store.finish(sweep, old);
  store.finish(sweep, timed_record(key_of(1)));
  store.finish(sweep, timed_record(key_of(2)));
  const Recording recording = store.record("sweep");
  ASSERT_EQ(recording.trials.size(), 2u);
  EXPECT_EQ(describe(recording.trials[0]), describe(timed_record(key_of(1))));
  EXPECT_EQ(recording.recorded_at, "2026-11-21");
  EXPECT_EQ(recording.device.uuid, h200().uuid);
}

TEST(Store, ARecordIsOfTheDeviceThatIsCalledFor) {
  Store store = Store::in_memory();
  store.finish(begin(store), timed_record(key_of(1)));
  DeviceInfo other = h200();
  other.uuid = "GPU-5678";
  store.finish(store.begin_sweep("sweep", "", "", other, ""), timed_record(key_of(2)));
  EXPECT_EQ(store.record("sweep").device.uuid, other.uuid) << "the last";
  const Recording first = store.record("sweep", "GPU-1234");
  ASSERT_EQ(first.trials.size(), 1u);
  EXPECT_EQ(describe(first.trials[0]), describe(timed_record(key_of(1))));
  for (const char* both : {"NVIDIA H200", "nvidia_h200"}) {
    EXPECT_EQ(store.record("sweep", both).device.uuid, other.uuid) << both;
  }
  EXPECT_EQ(
      message_of<UsageError>([&] { store.record("sweep", "nvidia_a100"); }),
      ":memory:: the sweep 'sweep' ran on NVIDIA H200 (GPU-1234), NVIDIA H200 (GPU-5678), not on "
      "'nvidia_a100'");
}

TEST(Replace, PutsAnotherOutcomeInThePlaceOfOneGivenUp) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store);
  TrialRecord raced = timed_record(key_of(1));
  raced.outcome.timing->stop = StopReason::raced;
  store.finish(sweep, raced);
  store.finish(sweep, timed_record(key_of(1)));
  EXPECT_EQ(describe(store.find(sweep, key_of(1)).value()), describe(raced)) << "the first stays";
  store.replace(sweep, timed_record(key_of(1)));
  EXPECT_EQ(describe(store.find(sweep, key_of(1)).value()), describe(timed_record(key_of(1))));
  EXPECT_EQ(store.trials({}).size(), 1u);
  EXPECT_TRUE(store.check().empty());
}

TEST(Store, RecordOfAnUnknownSweepIsTheUsersMistake) {
  Store store = Store::in_memory();
  EXPECT_EQ(message_of<UsageError>([&] { store.record("gemm"); }),
            ":memory: has no sweep named 'gemm'; it holds none");
  for (const char* name : {"b", "a", "b"}) store.begin_sweep(name, "", "", h200(), "");
  EXPECT_EQ(message_of<UsageError>([&] { store.record("gemm"); }),
            ":memory: has no sweep named 'gemm'; it holds a, b");
}

TEST(Store, AnUnknownSweepIsRefused) {
  Store store = Store::in_memory();
  EXPECT_EQ(message_of<Error>([&] { store.claim(7, key_of(1)); }), ":memory: has no sweep 7");
}

}  // namespace
}  // namespace assay
