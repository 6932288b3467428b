#include <signal.h>

#include <atomic>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/rank.h"
#include "matchers.h"
#include "store/store.h"
#include "store/store_fixture.h"

namespace assay {
namespace {

TrialRecord record_at(std::int64_t block, const std::string& finished_at) {
  TrialRecord record = timed_record(key_of(block));
  record.finished_at = finished_at;
  return record;
}

/// `record` with another outcome, later.
TrialRecord failed_at(std::int64_t block, Status status, const std::string& kind,
                      const std::string& finished_at) {
  TrialRecord record = record_of(key_of(block), {status, kind, "why", {}, {}});
  record.finished_at = finished_at;
  return record;
}

RankRecord verdict_of(const std::vector<TrialRecord>& trials, const std::string& finished_at) {
  CandidateSet candidates;
  for (const TrialRecord& trial : trials) candidates.add(trial);
  RankRecord rank = rank_of(finished_at);
  rank.identity.candidates = candidates.hash();
  rank.entries[0].config = to_text(trials.back().config);
  rank.noise->config = rank.entries[0].config;
  rank.toolchain = key_of(1).toolchain;
  rank.kernels = {trials.back().kernel};
  return rank;
}

/// A database with a sweep of these trials.
Store store_of(const std::vector<TrialRecord>& trials, const std::string& name = "sweep") {
  Store store = Store::in_memory();
  const std::int64_t sweep = begin(store, name);
  for (const TrialRecord& trial : trials) {
    store.claim(sweep, trial);
    store.finish(sweep, trial);
  }
  store.end_sweep(sweep, "done");
  return store;
}

/// What becomes of these, and what is said of it.
struct MergeOf {
  explicit MergeOf(const std::vector<Store>& sources) : report(store.merge(sources)) {}

  Store store = Store::in_memory();
  Merged report;
};

template <class... Stores>
std::vector<Store> list(Stores&&... stores) {
  std::vector<Store> all;
  (all.push_back(std::move(stores)), ...);
  return all;
}

/// Every trial, verdict and baseline with every digit, in an order of its own.
std::vector<std::string> contents(const Store& store) {
  std::vector<std::string> texts;
  for (const TrialRow& row : store.trials({}))
    texts.push_back(describe(store.trial(row.id)->record));
  for (const RankRow& row : store.ranks({})) texts.push_back(describe(row.record));
  for (const BaselineRow& row : store.baselines({})) texts.push_back(describe(row.record));
  std::sort(texts.begin(), texts.end());
  return texts;
}

// What a sweep wrote between the tables' being read had no problem, and the file was called
// damaged.
TEST(Merge, OfAFileThatASweepWritesToIsOfOneMoment) {
  TempFolder folder;
  const std::filesystem::path path = folder / "live.db";
  Store::open(path);
  std::atomic<bool> is_done = false;
  std::thread sweep([&] {
    Store store = Store::open(path);
    const std::int64_t id = begin(store);
    for (std::int64_t n = 1; !is_done && n < 1000; ++n) {
      TrialRecord record = timed_record(key_of(1));
      record.problem = {{"N", n}};
      record.kernel.source_hash = std::to_string(n);
      store.claim(id, record);
      store.finish(id, record);
    }
  });
  for (int i = 0; i < 30; ++i) {
    EXPECT_NO_THROW(MergeOf(list(Store::open_readonly(path))));
  }
  is_done = true;
  sweep.join();
}

// The first verdict of a machine whose clock was then set back held again after a merge.
TEST(Merge, KeepsTheOrderOfAFileWhoseClockWasSetBack) {
  Store a = store_of({record_at(1, "2026-11-21T10:00:00Z")});
  const std::vector<std::string> times = {"2026-11-21T11:00:00Z", "2026-11-21T09:00:00Z"};
  for (const std::string& time : times) {
    a.add_rank(begin(a, "at " + time), verdict_of({timed_record(key_of(1))}, time));
  }
  Store b = store_of({record_at(2, "2026-11-21T10:30:00Z")}, "between");
  std::vector<std::string> order;
  for (const RankRow& row : MergeOf(list(std::move(a), std::move(b))).store.ranks({}))
    order.push_back(row.record.finished_at);
  EXPECT_EQ(order, times);
}

TEST(Merge, LosesNothingAndAddsNothingTwice) {
  Store a = store_of({record_at(1, "2026-11-21T10:00:00Z"), record_at(2, "2026-11-21T10:00:01Z")});
  const std::int64_t sweep = begin(a, "more");
  a.add_rank(sweep, verdict_of({timed_record(key_of(1)), timed_record(key_of(2))},
                               "2026-11-21T11:00:00Z"));
  a.add_baseline(sweep, baseline_of("cublaslt", "2026-11-21T11:00:00Z"));
  a.end_screening(sweep, "gemm_bf16", key_of(1).problem);
  a.add_verification(
      *a.trial(1),
      {{{"seeds", CheckResult::passed, ""}}, key_of(1).toolchain, "2026-11-22T10:00:00Z"});
  Store b = store_of({record_at(3, "2026-11-21T12:00:00Z")}, "other");
  std::vector<std::string> all = contents(a);
  for (const std::string& text : contents(b)) all.push_back(text);
  std::sort(all.begin(), all.end());
  const std::size_t num_verdicts = a.results({}).ranks.size();

  MergeOf once(list(std::move(a), std::move(b)));
  const Store& merged = once.store;
  const Merged& report = once.report;
  EXPECT_EQ(contents(merged), all);
  EXPECT_EQ(report.num_trials, 3);
  EXPECT_EQ(report.num_verdicts, 1);
  EXPECT_EQ(num_verdicts, 1u);
  EXPECT_THAT(report.conflicts, IsEmpty());
  EXPECT_THAT(damage(merged), IsEmpty());
  EXPECT_THAT(merged.sweeps(), SizeIs(3));

  // Its own result and what went into it hold no more than it does.
  std::vector<Store> again = list(std::move(once.store));
  MergeOf twice(again);
  const MergeOf thrice(list(std::move(twice.store), std::move(again[0])));
  EXPECT_THAT(thrice.report.conflicts, IsEmpty());
  EXPECT_EQ(thrice.report.num_repeated, 0) << "a measurement that two files have is one";
  EXPECT_EQ(contents(thrice.store), all);
  EXPECT_THAT(thrice.store.sweeps(), SizeIs(3));
}

TEST(Merge, NamesConflictsAndKeepsWhatTellsMost) {
  TrialRecord slower = record_at(2, "2026-11-22T10:00:00Z");
  slower.outcome.timing = timing_of({1050, 1060, 1070, 1080, 1090, 1100, 1110});
  std::vector<Store> sources =
      list(store_of({record_at(1, "2026-11-21T10:00:00Z"), record_at(2, "2026-11-21T10:00:00Z"),
                     failed_at(3, Status::runtime, "killed", "2026-11-22T00:00:00Z"),
                     record_at(4, "2026-11-21T10:00:00Z")}),
           store_of({failed_at(1, Status::correctness, "mismatch", "2026-11-20T10:00:00Z"), slower,
                     record_at(3, "2026-11-21T10:00:00Z"), record_at(4, "2026-11-21T09:00:00Z")}));
  for (const bool swapped : {false, true}) {
    if (swapped) std::swap(sources[0], sources[1]);
    const MergeOf merge(sources);
    const Store& merged = merge.store;
    const Merged& report = merge.report;
    EXPECT_EQ(report.num_repeated, 1) << "the fourth";
    EXPECT_THAT(
        report.conflicts,
        ElementsAre(
            AllOf(HasSubstr("gemm BLOCK=1,SCHEDULE=row on M=16,N=4096"),
                  HasSubstr("correctness/mismatch (2026-11-20T10:00:00Z)"),
                  HasSubstr("correct, 1000.5 ns (2026-11-21T10:00:00Z)"),
                  HasSubstr("mismatch (2026-11-20T10:00:00Z) in :memory: is kept: what was "
                            "wrong once is not right")),
            AllOf(HasSubstr("BLOCK=2"),
                  HasSubstr("1080.0 ns (2026-11-22T10:00:00Z) in :memory: is kept: it is the "
                            "newer"))));
    std::vector<std::string> kept;
    for (const TrialRow& row : merged.trials({})) {
      kept.push_back(fmt::format("{} {}", to_text(row.record.outcome.status),
                                 row.record.finished_at.substr(8, 5)));
    }
    std::sort(kept.begin(), kept.end());
    EXPECT_THAT(
        kept, ElementsAre("correct 21T10", "correct 21T10", "correct 22T10", "correctness 20T10"));
    EXPECT_THAT(damage(merged), IsEmpty());
  }
}

TEST(Merge, WhatWasRunIsKeptBeforeWhatWasOnlyCompiledAndContradictsItNot) {
  const TrialRecord compiled = failed_at(1, Status::compiled, "", "2026-11-22T10:00:00Z");
  std::vector<Store> sources =
      list(store_of({record_at(1, "2026-11-21T10:00:00Z")}), store_of({compiled}));
  for (const bool swapped : {false, true}) {
    if (swapped) std::swap(sources[0], sources[1]);
    const MergeOf merge(sources);
    EXPECT_THAT(merge.report.conflicts, IsEmpty());
    EXPECT_EQ(merge.store.trials({}).at(0).record.outcome.status, Status::correct);
  }
}

TEST(Merge, AVerificationStaysWhicheverOutcomeIsKept) {
  Store a = store_of({record_at(1, "2026-11-21T10:00:00Z")});
  a.add_verification(
      *a.trial(1),
      {{{"seeds", CheckResult::failed, "no"}}, key_of(1).toolchain, "2026-11-22T10:00:00Z"});
  const MergeOf merge(list(std::move(a), store_of({record_at(1, "2026-11-23T10:00:00Z")})));
  const TrialRecord kept = merge.store.trial(1)->record;
  EXPECT_EQ(kept.finished_at, "2026-11-23T10:00:00Z");
  ASSERT_TRUE(kept.verification);
  EXPECT_NE(kept.verification->failure(), nullptr);
}

TEST(Merge, LeavesOutWhatStillRuns) {
  Store a = store_of({record_at(1, "2026-11-21T10:00:00Z")});
  a.claim(begin(a, "live"), key_of(2));
  const MergeOf merge(list(std::move(a)));
  EXPECT_EQ(merge.report.num_unfinished, 1);
  EXPECT_EQ(merge.report.num_trials, 1);
  EXPECT_THAT(damage(merge.store), IsEmpty());
  EXPECT_EQ(merge.store.sweeps().back().state, "interrupted");
}

// Ctrl-C was noticed when all was merged, or imported, and all the same written.
TEST(Merge, AndAnImportAndForgettingEndAtCtrlC) {
  std::vector<Store> sources = list(store_of({record_at(1, "2026-11-20T10:00:00Z")}));
  TempFolder folder;
  Store into = Store::open(folder / "x.db");
  const pid_t pid = start_process([&] {
    catch_interrupts();
    ::raise(SIGINT);
    Recording recording;
    recording.trials = {record_at(1, "2026-11-20T10:00:00Z")};
    EXPECT_THROW(into.merge(sources), Interrupted);
    EXPECT_THROW(into.import(recording), Interrupted);
    EXPECT_THROW(sources[0].forget_kernel("vector_add"), Interrupted);
    return testing::Test::HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(wait_for(pid), 0);
  EXPECT_THAT(into.trials({}), IsEmpty());
  EXPECT_THAT(sources[0].trials({}), SizeIs(1));
}

TEST(Forget, MachineFaultsAreMeasuredAgain) {
  Store store = store_of({record_at(1, "2026-11-21T10:00:00Z"),
                          failed_at(2, Status::runtime, "killed", "2026-11-21T10:00:00Z"),
                          failed_at(3, Status::runtime, "illegal_address", "2026-11-21T10:00:00Z"),
                          failed_at(4, Status::compile, "killed", "2026-11-21T10:00:00Z")});
  EXPECT_EQ(store.forget_machine_faults().trials, 2);
  EXPECT_THAT(store.trials({}), SizeIs(2));
  const std::int64_t sweep = begin(store, "again");
  EXPECT_EQ(store.claim(sweep, key_of(2)), Claim::fresh);
  EXPECT_EQ(store.claim(sweep, key_of(3)), Claim::done);
}

TEST(Forget, AKernelGoesWithItsVerdicts) {
  Store store = store_of({timed_record(key_of(1))});
  const std::int64_t sweep = begin(store, "other");
  TrialRecord other = timed_record(key_of(1));
  other.kernel.name = "other";
  store.finish(sweep, other);
  store.add_rank(sweep, verdict_of({timed_record(key_of(1)), other}, "2026-11-21T11:00:00Z"));
  EXPECT_EQ(store.forget_kernel("nobody").trials, 0);
  const Deleted deleted = store.forget_kernel("gemm");
  EXPECT_EQ(deleted.trials, 1);
  EXPECT_EQ(deleted.verdicts, 1);
  ASSERT_THAT(store.trials({}), SizeIs(1));
  EXPECT_EQ(store.trials({})[0].record.kernel.name, "other");
  EXPECT_THAT(damage(store), IsEmpty());
}

TEST(Prune, LeavesExactlyWhatIsShown) {
  Store store = store_of({timed_record(key_of(1)), timed_record(key_of(2))}, "old");
  const std::int64_t old_sweep = begin(store, "old");
  store.add_rank(old_sweep, verdict_of({timed_record(key_of(1)), timed_record(key_of(2))},
                                       "2026-11-21T11:00:00Z"));
  const std::int64_t sweep = begin(store, "new");
  store.add_baseline(sweep, baseline_of("cublaslt", "2026-11-21T11:00:00Z"));
  store.add_baseline(sweep, baseline_of("cublaslt", "2026-11-22T11:00:00Z"));
  TrialRecord current = timed_record(key_of(1));
  current.kernel.source_hash = "edited";
  store.finish(sweep, current);
  store.add_rank(sweep, verdict_of({current}, "2026-11-22T11:00:00Z"));
  store.end_sweep(old_sweep, "done");
  store.end_sweep(sweep, "done");
  ASSERT_THAT(store.results({}).ranks, SizeIs(1));

  const Deleted deleted = store.prune();
  EXPECT_EQ(deleted.trials, 2);
  EXPECT_EQ(deleted.verdicts, 1);
  EXPECT_EQ(deleted.baselines, 1);
  ASSERT_THAT(store.trials({}), SizeIs(1));
  EXPECT_EQ(store.trials({})[0].record.kernel.source_hash, "edited");
  EXPECT_THAT(store.results({}).ranks, SizeIs(1));
  EXPECT_THAT(store.sweeps(), SizeIs(1));
  EXPECT_THAT(damage(store), IsEmpty());
  EXPECT_EQ(store.prune().trials, 0);
}

}  // namespace
}  // namespace assay
