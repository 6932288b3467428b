#include "report/run_comparison.h"

#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "matchers.h"
#include "report/example_rows.h"

namespace assay {
namespace {

using example::failure;
using example::problem;

constexpr const char* kOther = "BLOCK_M=32,STAGES=9";

/// What a run found for some problems, with a spread of 0.5 %.
class RunOf {
 public:
  explicit RunOf(std::uint64_t seed) : random_(seed) {}

  /// The best, a runner-up 5 % behind and a baseline of 1200 ns.
  RunOf& add(const Problem& problem, double best_ns, const std::string& best = example::kBest,
             const std::string& runner_up = kOther) {
    RankRow row = example::rank(problem, "gemm_mma", best, best_ns, 1200);
    row.record.entries[1].config = runner_up;
    for (RankEntry& entry : row.record.entries) {
      for (double& ns : entry.samples_ns) {
        ns = entry.median_ns * (1 + std::normal_distribution<>(0, 0.005)(random_));
      }
    }
    row.record.identity.cublas = "13.1";
    results_.ranks.push_back(row);
    for (const std::string& config : {best, runner_up}) {
      TrialRow trial = example::trial(problem, "gemm_mma", config, best_ns);
      trial.record.compile.cubin_hash = "code of " + config + " by " + std::to_string(code_);
      results_.trials.push_back(trial);
    }
    return *this;
  }
  RunOf& with_code(int version) {
    code_ = version;
    return *this;
  }
  Results& results() { return results_; }
  Run run() const { return example::run("run", results_); }

 private:
  std::mt19937_64 random_;
  int code_ = 1;
  Results results_;
};

std::vector<Fate> fates(const RunComparison& comparison) {
  std::vector<Fate> all;
  for (const ComparedResult& result : comparison.results) all.push_back(result.fate);
  return all;
}

RunComparison compare(const RunOf& before, const RunOf& after) {
  return compare_runs(before.run(), after.run(), 0.02);
}

const Problem kSmall = problem(16, 64);
const Problem kLarge = problem(1024, 64);

TEST(CompareRuns, TellsWhatBecameOfEachResult) {
  RunOf before(1);
  RunOf after(2);
  before.add(kSmall, 1000).add(kLarge, 1000).add(problem(2048, 64), 1000);
  after.with_code(2).add(kSmall, 1100).add(kLarge, 900).add(problem(4096, 64), 1000);
  const RunComparison comparison = compare(before, after);
  EXPECT_THAT(fates(comparison), ElementsAre(Fate::slower, Fate::faster, Fate::gone, Fate::added));
  EXPECT_NEAR(comparison.results[0].judgement->ratio.value, 1.1, 0.01);
  EXPECT_EQ(fates(compare(after, before))[0], Fate::faster);
}

TEST(CompareRuns, OfARunWithItselfIsTheSame) {
  RunOf one(1);
  one.add(kSmall, 1000).add(kLarge, 5000);
  const RunComparison comparison = compare(one, one);
  EXPECT_THAT(fates(comparison), ElementsAre(Fate::same, Fate::same));
  EXPECT_TRUE(comparison.results[0].identical);
  EXPECT_THAT(comparison.results[0].stale, IsEmpty());
}

TEST(CompareRuns, NeverCallsTheSameMachineCodeSlower) {
  EXPECT_EQ(fates(compare(RunOf(1).add(kSmall, 1000), RunOf(2).add(kSmall, 1500))),
            std::vector{Fate::same});
  // It is slower none the less, which was said nowhere.
  RunOf slower(2);
  slower.add(kSmall, 1500).add(kLarge, 1000);
  for (TrialRow& row : slower.results().trials) row.record.toolchain.driver = "581.10";
  for (RankRow& row : slower.results().ranks) row.record.toolchain.driver = "581.10";
  RunOf driver(1);
  driver.add(kSmall, 1000).add(kLarge, 1000);
  for (RankRow& row : driver.results().ranks) row.record.toolchain.driver = "580.95";
  const RunComparison comparison = compare(driver, slower);
  EXPECT_THAT(slower_code_text(comparison),
              testing::MatchesRegex("same code, up to (49|50|51)\\.. % slower in 1 of 2 results; "
                                    "what changed: driver 580.95 -> 581.10"));
  EXPECT_THAT(comparison_text(comparison, Shown::notable), HasSubstr("\nsame code, up to "));
  EXPECT_EQ(slower_code_text(compare(RunOf(1).add(kSmall, 1000), RunOf(2).add(kSmall, 1000))), "");
  // Launched in another way, it is not the same.
  RunOf after(2);
  after.add(kSmall, 1500);
  for (TrialRow& row : after.results().trials) row.record.kernel.contract_hash = "another";
  EXPECT_EQ(fates(compare(RunOf(1).add(kSmall, 1000), after)), std::vector{Fate::slower});
}

TEST(CompareRuns, FollowsTheOldBest) {
  const RunOf before = RunOf(1).add(kSmall, 1000);
  const auto result = [&](const RunOf& after) { return compare(before, after).results.at(0); };
  EXPECT_FALSE(result(RunOf(2).add(kSmall, 1000)).winner_changed);

  const ComparedResult behind = result(RunOf(2).add(kSmall, 1000, kOther, example::kBest));
  EXPECT_TRUE(behind.winner_changed);
  EXPECT_EQ(behind.old_best, "5.0 % behind");

  RunOf tied = RunOf(2).add(kSmall, 1000, kOther, example::kBest);
  tied.results().ranks[0].record.entries[1].tied = true;
  EXPECT_FALSE(result(tied).winner_changed);

  EXPECT_EQ(result(RunOf(2).add(kSmall, 1000, kOther, "BLOCK_M=128,STAGES=2")).old_best,
            "not tried");
  RunOf failed = RunOf(2).add(kSmall, 1000, kOther, "BLOCK_M=128,STAGES=2");
  failed.results().trials.push_back(
      failure(kSmall, example::kBest, Status::compile, "error", "no"));
  EXPECT_EQ(result(failed).old_best, "failed: compile");
}

TEST(CompareRuns, NamesWhatChangedBeside) {
  RunOf after = RunOf(2).with_code(2).add(kSmall, 1000);
  for (TrialRow& row : after.results().trials) row.record.kernel.source_hash = "edited";
  after.results().ranks[0].record.toolchain.driver = "581.1";
  after.results().ranks[0].record.toolchain.nvrtc = "13.1";
  after.results().ranks[0].record.identity.cublas = "13.2";
  const RunComparison comparison = compare(RunOf(1).add(kSmall, 1000), after);
  EXPECT_THAT(comparison.results[0].stale,
              ElementsAre("the source of gemm_mma", "driver 580.159.04 -> 581.1",
                          "NVRTC 13.0 -> 13.1", "cuBLAS 13.1 -> 13.2"));
  // Another cuBLAS is another yardstick.
  EXPECT_FALSE(comparison.results[0].judgement->ratios.yardstick);
}

// A machine without a GPU replays the same recording before and after a change. So a kernel that
// did nothing passed the gate.
TEST(CompareRuns, AReplayOfAnOlderKernelIsNoMeasurement) {
  const RunOf before = RunOf(1).add(kSmall, 1000).add(kLarge, 1000);
  RunOf after = RunOf(1).add(kSmall, 1000).add(kLarge, 1000);
  const auto replay = [&](const std::string& provenance) {
    for (TrialRow& row : after.results().trials) {
      if (row.record.problem == kSmall) row.provenance = provenance;
    }
    for (RankRow& row : after.results().ranks) {
      if (row.record.problem == kSmall) row.provenance = provenance;
    }
    const std::vector<ComparedResult> results = compare(before, after).results;
    return *std::find_if(results.begin(), results.end(),
                         [](const ComparedResult& result) { return result.problem == kSmall; });
  };
  const std::string recorded = "recorded on NVIDIA H200, 2026-11-20";
  EXPECT_EQ(replay(recorded).fate, Fate::same);
  EXPECT_EQ(replay(recorded + stale_note("another")).fate, Fate::same);
  EXPECT_EQ(replay(recorded + stale_note("gemm_mma")).fate, Fate::not_comparable);
  EXPECT_THAT(replay(recorded + stale_note("gemm_mma")).reason, HasSubstr("was not measured"));
}

TEST(CompareRuns, ComparesNoOtherModelProtocolOrClockPolicy) {
  const RunOf before = RunOf(1).add(kSmall, 1000).add(kLarge, 1000);
  const auto reason = [&](const auto& change) {
    RunOf after = RunOf(2).add(kSmall, 2000).add(kLarge, 1000);
    const auto change_small = [&](auto& rows) {
      for (auto& row : rows) {
        if (row.record.problem == kSmall) change(row);
      }
    };
    change_small(after.results().trials);
    change_small(after.results().ranks);
    for (const ComparedResult& result : compare(before, after).results) {
      if (result.problem != kSmall) continue;
      EXPECT_EQ(result.fate, Fate::not_comparable);
      return result.reason;
    }
    return std::string("it is gone");
  };
  EXPECT_THAT(reason([](auto& row) { row.device.name = "NVIDIA A100"; }), HasSubstr("another GPU"));
  EXPECT_THAT(reason([](auto& row) { row.device.sm_count = 66; }), HasSubstr("66 SMs"));
  EXPECT_THAT(reason([](auto& row) { row.record.protocol.name = "hot"; }),
              HasSubstr("another protocol: cold, then hot"));

  RunOf free = RunOf(1).add(kSmall, 1000);
  RunOf set = RunOf(2).add(kSmall, 1000);
  for (TrialRow& row : free.results().trials) row.record.outcome.timing->state = GpuState{0};
  for (TrialRow& row : set.results().trials) row.record.outcome.timing->state = GpuState{2};
  EXPECT_THAT(compare(free.add(kLarge, 9), set.add(kLarge, 9)).results[0].reason,
              HasSubstr("clock policy"));
}

TEST(CompareRuns, ComparesAnotherGpuOfTheModelByTheBaseline) {
  RunOf after = RunOf(2).with_code(2).add(kSmall, 1000);
  for (RankRow& row : after.results().ranks) row.device.uuid = "GPU-2";
  for (RankEntry& entry : after.results().ranks[0].record.entries) {
    for (double& ns : entry.samples_ns) ns *= 1.05;
  }
  const RunComparison comparison = compare(RunOf(1).add(kSmall, 1000), after);
  EXPECT_EQ(comparison.results[0].fate, Fate::same);
  EXPECT_NEAR(comparison.results[0].judgement->ratios.time->value, 1.05, 0.01);
}

TEST(CompareRuns, SaysWhenNothingIsCorrectAnyMore) {
  RunOf after(2);
  after.results().trials = {failure(kSmall, example::kBest, Status::compile, "error", "no"),
                            failure(kSmall, kOther, Status::correctness, "mismatch", "no")};
  const RunComparison comparison = compare(RunOf(1).add(kSmall, 1000), after);
  EXPECT_THAT(fates(comparison), ElementsAre(Fate::failed));
  EXPECT_EQ(comparison.results[0].reason, "2 of 2 trials failed: compile correctness");
  EXPECT_THROW(compare(after, RunOf(1).add(kSmall, 1000)), UsageError);
}

TEST(CompareRuns, RefusesRunsWithNothingInCommon) {
  EXPECT_THAT([&] { compare(RunOf(1).add(kSmall, 1000), RunOf(2).add(kLarge, 1000)); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("no result in common"),
                                              HasSubstr("gemm_bf16 on NVIDIA H200 (cold)"))));
}

TEST(CompareRuns, IsUnsureOfWhatWasOnlyScreened) {
  RunOf after = RunOf(2).add(kSmall, 1000);
  after.results().ranks.clear();
  const RunComparison comparison = compare(RunOf(1).add(kSmall, 1000), after);
  EXPECT_THAT(fates(comparison), ElementsAre(Fate::unsure));
  EXPECT_THAT(comparison.results[0].reason, HasSubstr("only screened in the second run"));
  EXPECT_TRUE(comparison.results[0].may_be_slower());
}

TEST(MakeRun, TakesWhatWasMeasuredHereBeforeWhatWasRecorded) {
  RunOf one = RunOf(1).add(kSmall, 1000).add(kSmall, 2000);
  for (const std::size_t i : {2, 3}) one.results().trials[i].provenance = "recorded elsewhere";
  one.results().ranks[1].provenance = "recorded elsewhere";
  one.results().ranks[1].record.finished_at = "2099-01-01T00:00:00Z";
  const assay::Run run = one.run();
  ASSERT_EQ(run.results.size(), 1u);
  EXPECT_EQ(run.results[0].winner().median_ns, 1000);
}

TEST(ComparisonJson, HoldsEveryResult) {
  RunOf after = RunOf(2).with_code(2).add(kSmall, 1100).add(kLarge, 1000);
  const nlohmann::json json =
      comparison_json(compare(RunOf(1).add(kSmall, 1000).add(problem(3, 3), 1), after));
  ASSERT_EQ(json["results"].size(), 3u);
  EXPECT_EQ(json["verdicts"]["slower"], 1);
  EXPECT_EQ(json["verdicts"]["new"], 1);
  EXPECT_EQ(json["verdicts"]["gone"], 1);
  EXPECT_EQ(json["results"][0]["problem"]["M"], 3);
  EXPECT_TRUE(json["results"][0]["ratio"].is_null());
  EXPECT_NEAR(json["results"][1]["ratio"].get<double>(), 1.1, 0.01);
}

ComparedResult result(Fate fate, std::int64_t m = 16) {
  ComparedResult one;
  one.op = "gemm_bf16";
  one.problem = {{"M", m}, {"N", 64}};
  one.device.name = "NVIDIA H200";
  one.protocol = "cold";
  one.fate = fate;
  if (fate == Fate::slower) {
    one.judgement.emplace();
    one.judgement->ratio = {1.1, 1.09, 1.11};
    one.judgement->ratios.time = one.judgement->ratio;
  }
  return one;
}

RunComparison comparison(const std::vector<ComparedResult>& results) {
  return {"old.db", "new.db", 0.02, {}, results};
}

TEST(Gate, IsThatOfTheWorstResult) {
  EXPECT_EQ(gate_of(comparison({}), {}), Gate::passed);
  EXPECT_EQ(
      gate_of(comparison({result(Fate::same), result(Fate::faster), result(Fate::added)}), {}),
      Gate::passed);
  EXPECT_EQ(gate_of(comparison({result(Fate::unsure), result(Fate::same)}), {}), Gate::undecided);
  EXPECT_EQ(gate_of(comparison({result(Fate::unsure), result(Fate::slower)}), {}), Gate::failed);
  EXPECT_EQ(gate_of(comparison({result(Fate::failed)}), {}), Gate::failed);
}

TEST(Gate, LetsPassWhatIsAllowedAndNothingElse) {
  for (const Fate fate : {Fate::unsure, Fate::gone, Fate::not_comparable}) {
    const RunComparison one = comparison({result(fate)});
    EXPECT_EQ(gate_of(one, {}), Gate::undecided) << to_text(fate);
    EXPECT_EQ(gate_of(one, {fate}), Gate::passed) << to_text(fate);
    EXPECT_EQ(gate_of(one, {fate == Fate::gone ? Fate::unsure : Fate::gone}), Gate::undecided);
  }
  EXPECT_EQ(gate_of(comparison({result(Fate::slower)}), {Fate::unsure, Fate::gone}), Gate::failed);
}

TEST(Gate, IsNotHeldUpByWhatCanOnlyBeFaster) {
  ComparedResult faster = result(Fate::unsure);
  faster.judgement.emplace();
  faster.judgement->may_be_slower = false;
  EXPECT_EQ(gate_of(comparison({faster}), {}), Gate::passed);
  faster.judgement->may_be_slower = true;
  EXPECT_EQ(gate_of(comparison({faster}), {}), Gate::undecided);
}

TEST(GateMarkdown, PutsFirstWhatHoldsTheGateUp) {
  const std::string text =
      gate_markdown(comparison({result(Fate::faster, 1), result(Fate::gone, 2),
                                result(Fate::slower, 3), result(Fate::same, 4)}),
                    {});
  EXPECT_THAT(text, AllOf(HasSubstr("## assay gate: failed"), Not(HasSubstr("M=4"))));
  EXPECT_LT(text.find("M=3"), text.find("M=2"));
  EXPECT_LT(text.find("M=2"), text.find("M=1"));
}

TEST(GateMarkdown, FitsThePage) {
  std::vector<ComparedResult> many(20'000, result(Fate::slower));
  for (ComparedResult& one : many) one.reason = std::string(300, 'x');
  const std::string text = gate_markdown(comparison(many), {});
  EXPECT_LT(text.size(), std::size_t{64 * 1024});
  EXPECT_THAT(text, HasSubstr("more are not shown"));
  // One text alone is no way round it.
  many = {result(Fate::slower)};
  many[0].reason = std::string(1 << 20, 'x');
  EXPECT_LT(gate_markdown(comparison(many), {}).size(), std::size_t{64 * 1024});
}

TEST(GateMarkdown, KeepsOddTextsInTheirCell) {
  ComparedResult odd = result(Fate::slower);
  odd.reason = "a | b\n| c <script>";
  EXPECT_THAT(gate_markdown(comparison({odd}), {}), HasSubstr("| a \\| b?\\| c \\<script> |\n"));
}

TEST(GateJunit, CountsAndEscapes) {
  ComparedResult odd = result(Fate::slower);
  odd.device.name = "a<b>&\"c\"";
  const std::string text =
      gate_junit(comparison({odd, result(Fate::gone), result(Fate::unsure), result(Fate::same)}),
                 {Fate::gone});
  EXPECT_THAT(text, HasSubstr("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""));
  EXPECT_THAT(text, HasSubstr("classname=\"gemm_bf16.a&lt;b&gt;&amp;&quot;c&quot;.cold\""));
  EXPECT_THAT(text, HasSubstr("<failure message=\"slower +10.0 %"));
}

// The same source became slower with a driver: the text said so, and what CI reads did not.
TEST(Gate, SaysToMachinesThatTheSameCodeIsSlower) {
  ComparedResult slower = result(Fate::slower);
  slower.fate = Fate::same;
  slower.same_source = true;
  slower.stale = {"driver 580 -> 581"};
  const RunComparison runs = comparison({slower});
  const std::string said =
      "same code, up to 10.0 % slower in 1 of 1 results; what changed: driver "
      "580 -";
  const auto json = nlohmann::json::parse(gate_json(runs, {}));
  EXPECT_THAT(json["slower_code"].get<std::string>(), StartsWith(said));
  EXPECT_EQ(json["results"][0]["is_slower_code"], true);
  EXPECT_THAT(gate_junit(runs, {}), HasSubstr("  <system-out>" + said + "&gt; 581</system-out>\n"));
  const RunComparison same = comparison({result(Fate::same)});
  EXPECT_TRUE(nlohmann::json::parse(gate_json(same, {}))["slower_code"].is_null());
  EXPECT_THAT(gate_junit(same, {}), Not(HasSubstr("system-out")));
}

}  // namespace
}  // namespace assay
