#include <algorithm>

#include "base/rank.h"
#include "matchers.h"
#include "store/store.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

// What `results` says: the blocks that may win, and whether a verdict is of exactly these.
struct Asked {
  std::vector<std::int64_t> blocks;
  std::size_t num_verdicts = 0;
  bool operator==(const Asked&) const = default;
};

void PrintTo(const Asked& asked, std::ostream* out) {
  *out << fmt::format("{} verdicts on {}", asked.num_verdicts, fmt::join(asked.blocks, ", "));
}

Asked ask(const Store& store, const std::string& sweep = "") {
  const Results results = store.results({.sweep = sweep});
  Asked asked{{}, results.ranks.size()};
  for (const TrialRow& row : results.trials) {
    asked.blocks.push_back(std::get<std::int64_t>(row.record.config[0].second));
  }
  std::sort(asked.blocks.begin(), asked.blocks.end());
  return asked;
}

/// A run of a sweep that screens these blocks of a kernel and, perhaps, ranks them.
class SweepOf {
 public:
  SweepOf(Store& store, const std::string& name, const std::vector<std::int64_t>& blocks,
          const std::string& source = "source")
      : store_(store), id_(begin(store, name)) {
    for (const std::int64_t block : blocks) {
      TrialKey key = key_of(block);
      key.kernel.source_hash = source;
      if (!store.reuse(id_, std::vector{key})[0]) store.finish(id_, timed_record(key));
      set_.add(timed_record(key));
      best_ = to_text(key.config);
      kernel_ = key.kernel;
    }
  }
  SweepOf& screened() {
    store_.end_screening(id_, "gemm_bf16", key_of(1).problem);
    return *this;
  }
  SweepOf& ranked() {
    store_.add_rank(id_, asked());
    return *this;
  }
  RankRecord asked() const {
    RankRecord rank = rank_of("2026-11-21T10:00:00Z");
    rank.identity.candidates = set_.hash();
    rank.identity.num_candidates = static_cast<std::int64_t>(set_.size());
    rank.entries[0].config = best_;
    rank.noise->config = best_;
    rank.toolchain = key_of(1).toolchain;
    rank.kernels = {kernel_};
    return rank;
  }
  bool is_ranked() const { return store_.is_ranked(id_, asked()); }
  bool is_ranked(const RankRecord& rank) const { return store_.is_ranked(id_, rank); }

 private:
  Store& store_;
  std::int64_t id_;
  CandidateSet set_;
  std::string best_;  // the last block's configuration
  KernelVersion kernel_;
};

TEST(Results, ASweepOwnsWhatItReused) {
  Store store = Store::in_memory();
  SweepOf(store, "a", {1, 2, 3}).screened().ranked();
  SweepOf(store, "b", {1, 2}).screened();
  EXPECT_EQ(ask(store, "b"), (Asked{{1, 2}, 0})) << "a's verdict is of other candidates";
  EXPECT_EQ(ask(store, "a"), (Asked{{1, 2, 3}, 1}));
  EXPECT_EQ(ask(store).num_verdicts, 1u) << "all that is stored are a's candidates";
}

TEST(Results, ANarrowedSweepHasWhatItsLastRunScreened) {
  Store store = Store::in_memory();
  SweepOf(store, "a", {1, 2, 3}).screened().ranked();
  SweepOf(store, "a", {1, 2}).screened().ranked();
  EXPECT_EQ(ask(store, "a"), (Asked{{1, 2}, 1}));
  EXPECT_EQ(ask(store), (Asked{{1, 2, 3}, 1}));
}

TEST(Results, ARunThatWasInterruptedTakesNothingAway) {
  Store store = Store::in_memory();
  SweepOf(store, "a", {1, 2, 3}).screened().ranked();
  SweepOf(store, "a", {1});
  EXPECT_EQ(ask(store, "a"), (Asked{{1, 2, 3}, 1}));
}

TEST(Results, AVerdictEndsWithItsKernel) {
  Store store = Store::in_memory();
  SweepOf(store, "a", {1, 2}).screened().ranked();
  SweepOf(store, "a", {1, 2}, "edited").screened();
  EXPECT_EQ(ask(store, "a"), (Asked{{1, 2}, 0})) << "those of the edited kernel";
  EXPECT_EQ(ask(store).num_verdicts, 0u);
  // The edit taken back: the last run says which version counts, not the newest time.
  SweepOf(store, "a", {1, 2}).screened();
  EXPECT_EQ(ask(store, "a").num_verdicts, 1u);
  EXPECT_EQ(ask(store).num_verdicts, 1u);
}

// A newer compiler was tried and taken back: the last run says whose trials count, though what the
// other compiler made was measured later.
TEST(Results, AreOfTheCompilerThatTheLastRunHad) {
  Store store = Store::in_memory();
  const auto run = [&](const std::string& nvrtc, const std::string& finished_at) {
    const std::int64_t sweep = begin(store);
    for (const std::int64_t block : {1, 2}) {
      TrialKey key = key_of(block);
      key.toolchain.nvrtc = nvrtc;
      TrialRecord record = timed_record(key);
      record.finished_at = finished_at;
      if (!store.reuse(sweep, std::vector{key})[0]) store.finish(sweep, record);
    }
    store.end_screening(sweep, "gemm_bf16", key_of(1).problem);
    std::vector<std::string> compilers;
    for (const TrialRow& row : store.results({}).trials) {
      compilers.push_back(row.record.toolchain.nvrtc);
    }
    return compilers;
  };
  EXPECT_THAT(run("13.0", "2026-11-21T10:00:00Z"), ElementsAre("13.0", "13.0"));
  EXPECT_THAT(run("13.1", "2026-11-22T10:00:00Z"), ElementsAre("13.1", "13.1"));
  EXPECT_THAT(run("13.0", "2026-11-23T10:00:00Z"), ElementsAre("13.0", "13.0"));
}

// An edit made the kernel wrong. Its trials of before the edit were all that the filter for correct
// ones left, so the old verdict and the old winner were shown.
TEST(Results, AKernelThatIsWrongNowDoesNotWinByWhatItWas) {
  Store store = Store::in_memory();
  SweepOf(store, "a", {1}).screened().ranked();
  const std::int64_t rerun = begin(store, "a");
  TrialRecord wrong = timed_record(key_of(1));
  wrong.kernel.source_hash = "edited";
  wrong.outcome = {Status::correctness, "mismatch", ""};
  store.finish(rerun, wrong);
  const auto expect_nothing = [&] {
    for (const std::string sweep : {"", "a"}) {
      const Results correct = store.results({.status = Status::correct, .sweep = sweep});
      EXPECT_TRUE(correct.trials.empty() && correct.ranks.empty()) << sweep;
      EXPECT_EQ(store.results({.status = Status::correctness, .sweep = sweep}).trials.size(), 1u);
    }
  };
  expect_nothing();
  store.end_screening(rerun, "gemm_bf16", key_of(1).problem);
  expect_nothing();
}

// A recording, or a database, can be written by hand.
TEST(Results, AVerdictWhoseWinnerIsNoCorrectTrialIsNotBelieved) {
  Store store = Store::in_memory();
  SweepOf run(store, "a", {1, 2});
  run.screened().ranked();
  ASSERT_EQ(ask(store).num_verdicts, 1u);
  const auto believed = [&](auto change) {
    Store forged = Store::in_memory();
    SweepOf sweep(forged, "a", {1, 2});
    RankRecord rank = sweep.asked();
    rank.noise.reset();
    change(rank.entries);
    forged.add_rank(begin(forged, "a"), rank);
    try {
      return ask(forged).num_verdicts == 1;
    } catch (const DamagedDatabase&) {
      return false;  // it contradicts itself, too
    }
  };
  EXPECT_TRUE(believed([](auto&) {}));
  EXPECT_FALSE(believed([](auto& entries) { entries[0].config = to_text(key_of(3).config); }));
  EXPECT_FALSE(believed([](auto& entries) { entries[0].kernel = "another"; }));
  EXPECT_FALSE(believed([](auto& entries) {
    entries[0].winner = false;
    entries[1].tied = true;  // a baseline
  })) << "a baseline is no candidate";
}

TEST(Results, OfTwoSweepsNeitherVerdictIsOfTheUnion) {
  Store store = Store::in_memory();
  SweepOf(store, "a", {1, 2}).screened().ranked();
  SweepOf(store, "b", {2, 3}).screened().ranked();
  EXPECT_EQ(ask(store, "a").num_verdicts, 1u);
  EXPECT_EQ(ask(store, "b").num_verdicts, 1u);
  EXPECT_EQ(ask(store), (Asked{{1, 2, 3}, 0}));
  SweepOf(store, "c", {1, 2, 3}).screened().ranked();
  EXPECT_EQ(ask(store).num_verdicts, 1u);
}

TEST(IsRanked, WhenAllThatTellsVerdictsApartAgrees) {
  Store store = Store::in_memory();
  SweepOf run(store, "a", {1, 2});
  EXPECT_FALSE(run.is_ranked());
  RankRecord no_winner = run.asked();
  for (RankEntry& entry : no_winner.entries) entry.winner = false;
  store.add_rank(begin(store, "a"), no_winner);
  EXPECT_FALSE(run.is_ranked()) << "it has no winner";
  run.ranked();
  EXPECT_TRUE(run.is_ranked());
  EXPECT_FALSE(SweepOf(store, "a", {1}).is_ranked());
  EXPECT_FALSE(SweepOf(store, "a", {1, 2}, "edited").is_ranked());
  const auto differs = [&](auto change) {
    RankRecord rank = run.asked();
    change(rank);
    return !run.is_ranked(rank);
  };
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.op = "gemm_f16"; }));
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.problem = {{"M", 1}, {"N", 1}}; }));
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.protocol.name = "hot"; }));
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.identity.top = 9; }));
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.identity.least_rounds = 9; }));
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.identity.objective = Objective::edp; }));
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.identity.baselines = {"cublaslt"}; }));
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.identity.cublas = "14.0.0"; }));
  // A verdict that is known better than asked is an answer, one that is known less is none.
  EXPECT_TRUE(differs([](RankRecord& rank) { rank.identity.precision_ratio = 0.0001; }));
  EXPECT_FALSE(differs([](RankRecord& rank) { rank.identity.precision_ratio = 0.003; }));
}

// `assay verify` once stored what it found under the number that it had read an hour before, and
// SQLite gives the numbers of deleted rows out again.
TEST(Verifications, ForgottenMeanwhileATrialsNumberIsAnothersTrial) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store, "s");
  store.finish(sweep, timed_record(key_of(1)));
  const TrialRow read = store.trial(1).value();
  store.forget_kernel(key_of(1).kernel.name);
  TrialKey other = key_of(2);
  other.kernel.name = "another";
  store.finish(sweep, timed_record(other));
  ASSERT_EQ(store.trial(1).value().record.config, other.config);

  EXPECT_FALSE(store.add_verification(
      read, {{{"data", CheckResult::failed, "wrong"}}, other.toolchain, "2026-11-22T10:00:00Z"}));
  EXPECT_FALSE(store.add_measurements(read, {{"counted later", 1, "bytes"}}));
  EXPECT_FALSE(store.trial(1).value().record.verification);
  EXPECT_EQ(store.trial(1).value().record.measurements, timed_record(other).measurements);

  // Measured again under another number it is the same trial.
  store.finish(sweep, timed_record(key_of(1)));
  EXPECT_TRUE(store.add_measurements(read, {{"counted later", 1, "bytes"}}));
  EXPECT_EQ(store.trial(2).value().record.measurements.size(), read.record.measurements.size() + 1);
}

// Two sweeps tried it again at once. The one that found it wrong was the first to end.
TEST(Results, WhatWasWrongIsNotRightBecauseItPassesAnotherTime) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store, "s");
  store.finish(sweep, timed_record(key_of(1)));
  const auto status = [&] { return store.trials({}).at(0).record.outcome.status; };
  store.replace(sweep, record_of(key_of(1), {Status::correctness, "mismatch", ""}));
  EXPECT_EQ(status(), Status::correctness);
  store.replace(sweep, timed_record(key_of(1)));
  EXPECT_EQ(status(), Status::correctness);
  store.replace(sweep, timed_record(key_of(1)), Store::IfWrong::replace);
  EXPECT_EQ(status(), Status::correct);
}

// A later sweep timed a winner again, and that it had failed a check was forgotten.
TEST(Verifications, TheNewestStaysThoughTheTrialIsTimedAgain) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store, "s");
  const TrialKey key = key_of(1);
  store.finish(sweep, timed_record(key));
  const auto known = [&] { return store.results({}).trials.at(0).record.verification; };
  EXPECT_FALSE(known());
  const Verification first{{{"data"}, {"streams"}}, key.toolchain, "2026-11-22T10:00:00Z"};
  store.add_verification(*store.trial(1), first);
  EXPECT_EQ(known(), first);
  const Verification second{
      {{"data", CheckResult::failed, "wrong"}}, key.toolchain, "2026-11-22T09:00:00Z"};
  store.add_verification(*store.trial(1), second);
  EXPECT_EQ(known(), second);

  // What an import brings is newer, or left alone.
  Recording recording = store.record("s");
  EXPECT_EQ(recording.trials.at(0).verification, second);
  Store other = Store::in_memory();
  recording.trials[0].verification = first;
  other.import(recording);
  recording.trials[0].verification = second;
  other.import(recording);
  EXPECT_EQ(other.results({}).trials.at(0).record.verification, first);

  store.replace(sweep, timed_record(key));
  EXPECT_EQ(known(), second);
}

TEST(Results, OfOneRunAreWhatItHad) {
  Store store = Store::in_memory();
  SweepOf(store, "a", {1, 2}).screened().ranked();
  SweepOf(store, "a", {2, 3}, "edited").screened().ranked();
  SweepOf(store, "b", {1}).screened();
  const std::vector<StoredSweep> sweeps = store.sweeps();
  ASSERT_EQ(sweeps.size(), 3u);
  EXPECT_EQ(sweeps[1].name, "a");
  EXPECT_EQ(sweeps[1].device.name, h200().name);
  const auto blocks_of = [&](std::int64_t run) {
    const Results results = store.results({.run = run});
    std::vector<std::string> blocks;
    for (const TrialRow& row : results.trials) {
      blocks.push_back(row.record.kernel.source_hash + to_text(row.record.config[0].second));
    }
    std::sort(blocks.begin(), blocks.end());
    return std::pair(blocks, results.ranks.size());
  };
  using Blocks = std::vector<std::string>;
  EXPECT_EQ(blocks_of(sweeps[0].id), std::pair(Blocks{"source1", "source2"}, std::size_t{1}));
  EXPECT_EQ(blocks_of(sweeps[1].id), std::pair(Blocks{"edited2", "edited3"}, std::size_t{1}));
  EXPECT_EQ(blocks_of(sweeps[2].id), std::pair(Blocks{"source1"}, std::size_t{0}));
  EXPECT_EQ(blocks_of(99), std::pair(Blocks{}, std::size_t{0}));
  // A verdict that another run makes of the same later is not of this one.
  SweepOf(store, "c", {1}).screened().ranked();
  EXPECT_EQ(blocks_of(sweeps[2].id).second, 0u);
}

TEST(Results, OfQuestionsWithAVerdictLeaveOutTheOthers) {
  Store store = Store::in_memory();
  SweepOf(store, "a", {1, 2}).screened().ranked();
  TrialKey other = key_of(3);
  other.problem = {{"M", 32}, {"N", 64}};
  store.finish(begin(store, "a"), timed_record(other));
  EXPECT_THAT(ask(store).blocks, ElementsAre(1, 2, 3));
  const Results ranked = store.results({.is_ranked = true});
  EXPECT_EQ(ranked.trials.size(), 2u);
  EXPECT_EQ(ranked.ranks.size(), 1u);
}

// Rows that follow each other are read in one go. Here some do, and others belong to another
// question, are older than the one before, or stand far apart.
TEST(Results, ComeOldestFirstWithTheirOwnFiguresWhateverTheirNumbers) {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store, "a");
  std::vector<std::string> expected;
  for (std::int64_t i = 0; i < 60; ++i) {
    TrialRecord trial = timed_record(key_of(i));
    const bool is_other = i % 3 == 1 || (i > 20 && i < 40);
    if (is_other) trial.problem = {{"M", 32}, {"N", 64}};
    const std::int64_t minute = i > 50 ? 110 - i : i;  // the last are in the opposite order
    trial.finished_at = fmt::format("2026-11-21T10:{:02}:00Z", minute);
    trial.measurements.clear();
    if (i % 2 == 0) trial.measurements = {{"count", static_cast<double>(i), ""}};
    if (!is_other) expected.push_back(trial.finished_at + describe(trial));
    store.finish(sweep, trial);
  }
  std::sort(expected.begin(), expected.end());
  std::vector<std::string> found;
  for (TrialRow& row : store.results({.problem = to_text(key_of(0).problem)}).trials) {
    row.record.outcome.timing = timed_record(key_of(0)).outcome.timing;  // it comes without samples
    found.push_back(row.record.finished_at + describe(row.record));
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace assay
