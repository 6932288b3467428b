#include "ranking/verdict.h"

#include <algorithm>

#include "matchers.h"

namespace assay {
namespace {

const KernelSpec& kernel(const std::string& name) {
  static const std::vector<KernelSpec> kernels = [] {
    std::vector<KernelSpec> made(2);
    made[0].name = "add";
    made[1].name = "bad";
    return made;
  }();
  return *std::find_if(kernels.begin(), kernels.end(),
                       [&](const KernelSpec& spec) { return spec.name == name; });
}

Candidate candidate(std::int64_t block, double median_ns, const std::string& name = "add") {
  return {&kernel(name), {{"BLOCK", block}}, median_ns, false, {}, 0};
}

Candidate raced(std::int64_t block, double median_ns) {
  Candidate out = candidate(block, median_ns);
  out.censored = true;
  return out;
}

std::vector<std::string> kept(std::vector<Candidate> correct, int top) {
  keep_best(correct, top);
  std::vector<std::string> names;
  for (const Candidate& one : correct)
    names.push_back(one.kernel->name + " " + to_text(one.config));
  return names;
}

TEST(KeepBest, KeepsTheFastestFirst) {
  EXPECT_THAT(kept({candidate(1, 300), candidate(2, 100), candidate(3, 200)}, 2),
              ElementsAre("add BLOCK=2", "add BLOCK=3"));
  EXPECT_THAT(kept({}, 2), IsEmpty());
  EXPECT_THAT(kept({candidate(1, 300)}, 8), ElementsAre("add BLOCK=1"));
}

// Two candidates had equal medians, and only one of them could be re-ranked. Which one depended on
// the order of the trials. So a replay kept the one that the recorded re-rank had not timed.
TEST(KeepBest, EqualMediansAreInTheOrderOfTheirTextsWhateverTheOrderOfTheTrials) {
  std::vector<Candidate> correct{candidate(1, 100), candidate(2, 200), candidate(3, 200),
                                 candidate(1, 200, "bad"), candidate(4, 200)};
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  do {
    std::vector<Candidate> shuffled;
    for (const std::size_t i : order) shuffled.push_back(correct[i]);
    ASSERT_THAT(kept(shuffled, 3), ElementsAre("add BLOCK=1", "add BLOCK=2", "add BLOCK=3"));
    ASSERT_THAT(kept(shuffled, 5), SizeIs(5));
    ASSERT_EQ(kept(shuffled, 5).back(), "bad BLOCK=1");
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(KeepBest, WhatIsWithinSixPercentOfTheFastestStaysUpToFourTimesTheTop) {
  std::vector<Candidate> correct;
  for (int i = 0; i < 20; ++i) correct.push_back(candidate(i, 1000 + 6 * i));
  EXPECT_THAT(kept(correct, 2), SizeIs(8));
  EXPECT_THAT(kept(correct, 3), SizeIs(11)) << "1060 ns is just near enough";
  EXPECT_THAT(kept(correct, 15), SizeIs(15)) << "the top stays, near or not";
  EXPECT_THAT(kept(correct, 100), SizeIs(20));
}

// A round of 34 entries of 9 ms each, with the rests between them, took most of a second.
TEST(KeepBest, OfLongWorkWhatIsWithinTwoPercentStaysUpToTwiceTheTop) {
  std::vector<Candidate> correct;
  for (int i = 0; i < 20; ++i) correct.push_back(candidate(i, 1e6 + 2e3 * i));
  EXPECT_THAT(kept(correct, 2), SizeIs(4));
  EXPECT_THAT(kept(correct, 8), SizeIs(11)) << "1.02 ms is just near enough";
  EXPECT_THAT(kept(correct, 15), SizeIs(15)) << "the top stays, near or not";
}

TEST(KeepBest, WhatWasRacedOutTakesPartOnlyWhereTheWinnerWouldRunAlone) {
  EXPECT_THAT(kept({raced(1, 50), candidate(2, 100), raced(3, 40)}, 8),
              ElementsAre("add BLOCK=2", "add BLOCK=3"));
  EXPECT_THAT(kept({raced(1, 50), candidate(2, 100), candidate(3, 900)}, 8),
              ElementsAre("add BLOCK=2", "add BLOCK=3"));
  EXPECT_THAT(kept({raced(1, 50), raced(2, 51), raced(3, 52)}, 8), SizeIs(2));
  EXPECT_THAT(kept({raced(1, 50), candidate(2, 100)}, 1), ElementsAre("add BLOCK=2"));
}

Candidate with_registers(std::int64_t block, double median_ns, std::int64_t registers) {
  Candidate out = candidate(block, median_ns);
  out.figures = {{"registers", registers}};
  return out;
}

std::vector<std::string> kept_by(const std::string& objective, std::vector<Candidate> correct,
                                 int top) {
  keep_best(correct, top, parse_objective(objective).value());
  std::vector<std::string> blocks;
  for (const Candidate& one : correct) blocks.push_back(to_text(one.config).substr(6));
  return blocks;
}

TEST(KeepBest, ByAMetricTheBestOfItStay) {
  const std::vector<Candidate> all = {with_registers(1, 100, 128), with_registers(2, 150, 64),
                                      with_registers(3, 105, 128), with_registers(4, 300, 32)};
  EXPECT_THAT(kept_by("minimize time_ns * registers", all, 1), ElementsAre("2", "4"))
      << "9600 each; the others are not near";
  EXPECT_THAT(kept_by("minimize registers", all, 2), ElementsAre("4", "2"));
  EXPECT_THAT(kept_by("minimize time_ns", all, 1), ElementsAre("1", "3"));
  EXPECT_THAT(kept_by("minimize time_ns; energy", all, 1), ElementsAre("1", "3"))
      << "energy is not known yet";
  // One that was given up takes 120 ns at least, so that it may be the best.
  std::vector<Candidate> raced = all;
  raced[1].censored = true;
  raced[1].ci_low_ns = 120;
  EXPECT_THAT(kept_by("minimize time_ns * registers", raced, 1), ElementsAre("2"));
}

TEST(KeepBest, BySeveralObjectivesTheirParetoListStaysAndWhatIsNearIt) {
  const std::vector<Candidate> all = {with_registers(1, 100, 128), with_registers(2, 150, 64),
                                      with_registers(3, 105, 128), with_registers(4, 300, 32),
                                      with_registers(5, 110, 128), with_registers(6, 110, 127)};
  EXPECT_THAT(kept_by("time; minimize registers", all, 2), ElementsAre("1", "6", "2", "4", "3"));
  EXPECT_THAT(kept_by("time; minimize registers", all, 1), ElementsAre("1", "6", "2", "4"))
      << "no more than four times the top";
  EXPECT_THAT(kept_by("time; minimize registers", all, 8), SizeIs(6));
}

TEST(KeepBest, WhatAMetricHasNoAnswerForComesLast) {
  EXPECT_THAT(kept_by("minimize registers", {candidate(1, 50), with_registers(2, 100, 9)}, 2),
              ElementsAre("2", "1"));
}

RerankEntry timed(const std::string& name, double time_ns, std::size_t rounds) {
  RerankEntry entry;
  entry.name = name;
  entry.samples_ns.assign(rounds, time_ns);
  return entry;
}

class VerdictOf : public testing::Test {
 protected:
  VerdictOf() : best_{candidate(1, 100), candidate(2, 110)}, requests_(2) {
    best_[0].roofline_ns = 60;
    best_[1].roofline_ns = 70;
    result_.candidates = {timed("BLOCK=1", 120, 12), timed("BLOCK=2", 110, 12)};
    result_.baselines = {timed("cublaslt_best", 130, 12)};
  }

  RankRecord verdict(Objective objective = Objective::time) const {
    RankRecord asked{"add_f32", {{"N", 1000}}, {}, 0, {}, "now", {}, objective};
    return verdict_of(asked, result_, best_, requests_);
  }

  std::vector<Candidate> best_;
  std::vector<TrialRequest> requests_;
  RerankResult result_;
};

TEST_F(VerdictOf, SaysHowManyRoundsWereTaken) {
  EXPECT_EQ(verdict().rounds, 12);
  result_.candidates[0] = timed("BLOCK=1", 120, 5);  // it left after five
  EXPECT_EQ(verdict().rounds, 12);
}

TEST_F(VerdictOf, EachEntryHasItsRooflineAndABaselineTheWinners) {
  const std::vector<RankEntry> entries = verdict().entries;
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_TRUE(entries[0].winner);
  for (const RankEntry& entry : entries) {
    EXPECT_EQ(entry.roofline_ns, entry.config == "BLOCK=1" ? 60 : 70) << entry.config;
  }
}

TEST_F(VerdictOf, WithoutTheEnergyOfAllThatMayWinTheObjectiveIsTime) {
  EXPECT_EQ(verdict(Objective::energy).objective, Objective::time);
  EXPECT_EQ(verdict(Objective::edp).objective, Objective::time);
  result_.candidates[1].energy_j = 0.01;
  EXPECT_EQ(verdict(Objective::edp).objective, Objective::time);
  EXPECT_EQ(verdict(Objective::time).objective, Objective::time);

  const auto text_by = [&](const std::string& text) {
    return std::string(to_text(verdict(parse_objective(text).value()).objective));
  };
  EXPECT_EQ(text_by("energy; minimize time_ns"), "minimize time_ns");
  EXPECT_EQ(text_by("maximize 1 / energy_j"), "time");

  result_.candidates[0].eliminated = true;
  EXPECT_EQ(verdict(Objective::edp).objective, Objective::edp);
  result_.candidates[0].eliminated = false;
  result_.candidates[0].outcome.status = Status::correctness;
  result_.candidates[0].outcome.message = "C[0] was not written";
  EXPECT_EQ(verdict(Objective::energy).objective, Objective::energy);
}

TEST_F(VerdictOf, AnEntryHasTheFiguresOfItsConfiguration) {
  best_[0].figures = {{"registers", std::int64_t{10}}};
  best_[1].figures = {{"registers", std::int64_t{20}}};
  const RankRecord rank = verdict(parse_objective("minimize time_ns * registers").value());
  EXPECT_EQ(rank.entries.at(0).config, "BLOCK=1");
  EXPECT_TRUE(rank.entries[0].winner);
  EXPECT_EQ(rank.entries[0].figures, best_[0].figures);
}

// A replay lacks what was not re-ranked when it was recorded.
TEST_F(VerdictOf, WhatWasNeverTimedIsLeftOut) {
  result_.candidates[0].samples_ns.clear();
  EXPECT_THAT(verdict().entries, SizeIs(2));
  result_.candidates[1].samples_ns.clear();
  result_.baselines.clear();
  EXPECT_THAT(verdict().entries, IsEmpty());
}

}  // namespace
}  // namespace assay
