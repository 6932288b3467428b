#include "report/run_comparison.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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
  RunComparison all;
  all.before = "old.db";
  all.after = "new.db";
  all.margin_ratio = 0.02;
  all.results = results;
  return all;
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
  EXPECT_THAT(json["slower_code"].get<std::string>(), testing::StartsWith(said));
  EXPECT_EQ(json["results"][0]["is_slower_code"], true);
  EXPECT_THAT(gate_junit(runs, {}), HasSubstr("  <system-out>" + said + "&gt; 581</system-out>\n"));
  const RunComparison same = comparison({result(Fate::same)});
  EXPECT_TRUE(nlohmann::json::parse(gate_json(same, {}))["slower_code"].is_null());
  EXPECT_THAT(gate_junit(same, {}), Not(HasSubstr("system-out")));
}

TEST(GateJson, SaysTheOutcomeFirst) {
  const auto json = nlohmann::ordered_json::parse(gate_json(comparison({result(Fate::gone)}), {}));
  EXPECT_EQ(std::next(json.begin(), 2).key(), "gate");
  EXPECT_EQ(json["gate"], "undecided");
  EXPECT_EQ(json["verdicts"]["gone"], 1);
}

}  // namespace
}  // namespace assay
