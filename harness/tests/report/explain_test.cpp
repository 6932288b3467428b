#include "report/explain.h"

#include <nlohmann/json.hpp>

#include "matchers.h"
#include "report/example_figures.h"
#include "report/golden.h"

namespace assay {
namespace {

using namespace example;

using ::testing::Field;

TEST(Explain, SaysThatWorkMayDoMoreThanWasMeasured) {
  Figures figures = plain();
  figures.operations_ns = 30504;
  EXPECT_THAT(explain(figures).headline,
              StartsWith("compute-bound: all that this GPU computes without tensor cores (124 % of "
                         "its measured ceiling)"));
}

TEST(Explain, CountsTheQueueToWhatWarpsWaitFor) {
  Figures figures = plain();
  count_waits(figures, 30, 1, 1, 1, 5);
  count(figures, {{"stalled_memory_queue", 50}});
  expect_explained(figures, "waiting for memory", HasSubstr("80 % of their time"));
}

TEST(Explain, SaysWhereTwoExplanationsRemain) {
  Figures figures = plain();
  figures.memory_ns = 5000;
  figures.launches[0].occupancy = Occupancy{1, "registers", 0.125};
  figures.findings->push_back({"dependent loads", "2 loads in a row"});
  count_waits(figures, 80, 1, 1, 1, 5);
  EXPECT_THAT(explain(figures).headline,
              HasSubstr("2 explanations remain: low occupancy, dependent loads"));
}

TEST(Explain, DoesNotGuessWhatIsNotKnown) {
  Figures figures = plain();
  Explanation said = explain(figures);  // no ceilings, no counters
  EXPECT_EQ(said.main, "");
  EXPECT_THAT(said.headline, StartsWith("not known: 100 % not explained"));
  EXPECT_THAT(said.missing, has_missing("assay doctor"));
  EXPECT_THAT(said.missing, has_missing("assay profile 1"));

  figures.roofline_ns = 23000;  // of which it is not known what set it
  said = explain(figures);
  EXPECT_EQ(said.main, "roofline");
  EXPECT_THAT(said.headline, StartsWith("at its roofline: 93 %"));

  figures.time_ns = {};
  figures.launches[0].blocks = 64;
  said = explain(figures);
  EXPECT_EQ(said.headline, "not timed; possible reasons: too few blocks, low occupancy");
  EXPECT_THAT(said.missing, has_missing("assay sweep"));

  // Of a kernel that has changed only what is stored is known.
  Figures stored = plain();
  stored.bytes = stored.flops = 0;
  stored.launches.clear();
  stored.findings.reset();
  stored.no_code = "k has changed since";
  stored.roofline_ns = 12300;
  said = explain(stored);
  EXPECT_THAT(said.headline, StartsWith("roofline comes nearest: 50 % of what this GPU allows"));
  EXPECT_THAT(said.missing,
              Contains(Field(&MissingFigure::figure, "the work, the launches and the code")));
  EXPECT_THAT(said.missing, Not(has_missing("assay doctor")));

  // One set of counters is there, and of the others it is said how to get them.
  count(figures, {{"dram_read", 1e6}, {"dram_write", 1e6}});
  EXPECT_THAT(explain(figures).missing, has_missing("assay profile 1 --set stalls"));
  EXPECT_THAT(explain(figures).missing, Not(has_missing("--set memory")));
}

TEST(Explain, DoesNotDivideTheTimeAmongLaunches) {
  Figures figures = plain(20000);
  figures.memory_ns = 11000;
  figures.launches = {{"k", 64, 256, Occupancy{8, "threads", 1.0}},
                      {"reduce", 132 * 80, 256, Occupancy{8, "threads", 1.0}}};
  const Explanation said = explain(figures);
  EXPECT_EQ(said.main, "memory");
  EXPECT_THAT(said.headline, StartsWith("memory comes nearest: 55 %"));
  EXPECT_THAT(said.behind, named("too few blocks"));
  EXPECT_THAT(said.behind, named("launches"));
  EXPECT_THAT(said.causes, Not(named("too few blocks")));
}

TEST(Explain, SaysHowManyLaunchesTakeTurns) {
  Figures figures = plain(311800);
  figures.memory_ns = 59400;
  figures.launches.assign(4, figures.launches.front());
  const Explanation said = explain(figures);
  EXPECT_EQ(said.main, "");
  ASSERT_THAT(said.behind, ElementsAre(Field(&Cause::name, "launches")));
  EXPECT_EQ(said.behind[0].text,
            "4 launches, one after the other, of 77.95 us each on average; if each moves all that "
            "must be moved, that takes 237.6 us");
}

// Three launches of which two overlap were "28.48 us each".
TEST(Explain, DividesTheTimeByLaunchesThatAreAlikeOnly) {
  Figures figures = plain(85440);
  figures.launches.assign(3, figures.launches.front());
  const auto launches_of = [&] {
    for (const Cause& cause : explain(figures).behind) {
      if (cause.name == "launches") return cause.text;
    }
    return std::string();
  };
  EXPECT_EQ(launches_of(), "3 launches, one after the other, of 28.48 us each on average");
  figures.launches[1].blocks = 1;
  EXPECT_EQ(launches_of(), "3 launches, one after the other");
  figures.launches[1].is_early = true;
  EXPECT_EQ(launches_of(), "3 launches, which may overlap");
}

TEST(Explain, PlacesARooflineOfWhichOnlyTheTimeIsKnown) {
  // 2 x 1024^3 operations in 2.6435 us are 812 TFLOP/s, of 995 that the SMs can do.
  Figures figures = plain(7700);
  figures.flops = 2.147e9;
  figures.bytes = 6.3e6;
  place_roofline(figures, 2643.5, 16);
  EXPECT_EQ(figures.operations_ns, 2643.5);
  EXPECT_EQ(figures.memory_ns, 0);
  // And 2 x 4096^2 in 7.243 us are 5.
  figures = plain(11700);
  figures.flops = 3.4e7;
  figures.bytes = 33.6e6;
  place_roofline(figures, 7243, 16);
  EXPECT_EQ(figures.operations_ns, 0);
  EXPECT_EQ(figures.memory_ns, 7243);
  // Of a GPU that is not in the table neither is said, unless there are no operations.
  figures = plain();
  figures.cc = 61;
  place_roofline(figures, 7243, 16);
  EXPECT_EQ(figures.operations_ns + figures.memory_ns, 0);
  figures.flops = 0;
  place_roofline(figures, 7243, 16);
  EXPECT_EQ(figures.memory_ns, 7243);
}

// What is the same for both was "210.5 us | none" where another limit is the second's largest.
TEST(WhyFaster, ALimitThatBothHaveIsNoDifference) {
  const Figures before = plain(353'000), after = plain(316'000);
  Explanation of_before, of_after;
  of_before.causes = {{CauseKind::limit, "roofline", 210.5 / 353, "", ""}};
  of_after.causes = {{CauseKind::limit, "tensor cores", 0.69, "", ""},
                     {CauseKind::limit, "roofline", 210.5 / 316, "", ""}};
  EXPECT_THAT(why_faster(before, of_before, after, of_after).because,
              Not(Contains(HasSubstr("roofline"))));
}

TEST(WhyFaster, NamesWhatOfTheTimeDiffers) {
  Figures before = plain(25000), after = plain(13000);
  for (Figures* figures : {&before, &after}) {
    figures->operations_ns = 12500;
    figures->on_tensor_cores = true;
  }
  before.launches = {{"k", 136, 384, Occupancy{1, "shared memory", 0.19}}};
  after.launches = {{"k", 132, 384, Occupancy{1, "shared memory", 0.19}}};
  after.launches[0].smem_bytes = 98304;
  const Faster faster = why_faster(before, explain(before), after, explain(after));
  EXPECT_EQ(faster.headline,
            "the second is 1.923 times as fast [1.904, 1.942]: 25.00 us and 13.00 us");
  ASSERT_THAT(faster.because, Not(IsEmpty()));
  EXPECT_EQ(faster.because.front(), "last wave: 12.12 us | none");
  const std::string text = faster_text(before, after);
  EXPECT_THAT(text, HasSubstr("136 blocks of 384 threads; 1 an SM"));
  EXPECT_THAT(text, HasSubstr("threads and 96.0 KiB of shared memory; 1 an SM"));
  EXPECT_THAT(text, Not(HasSubstr("registers")));  // are the same
  // What was counted of one alone is no difference.
  count(after, {{"dram_read", 64}});
  EXPECT_THAT(faster_text(before, after), Not(HasSubstr("dram_read")));
  count(before, {{"dram_read", 128}});
  EXPECT_THAT(faster_text(before, after), HasSubstr("dram_read  128 B | 64 B"));

  // Rounds that timed both in turn know it better than two times of their own.
  before.verdict = after.verdict = "2026-11-22T19:00:00Z";
  for (int round = 0; round < 8; ++round) {
    const double load = 1 + 0.05 * (round % 3);
    before.rounds_ns.push_back(25000 * load);
    after.rounds_ns.push_back(12500 * load);
  }
  EXPECT_THAT(why_faster(before, explain(before), after, explain(after)).headline,
              StartsWith("the second is 2 times as fast [2, 2], timed in turn for 8 rounds: "));
  after.verdict.clear();

  // Of two that do the same, the one at the higher clock is faster.
  Figures slow = plain(101000), fast = plain(100000);
  for (Figures* figures : {&slow, &fast}) {
    figures->operations_ns = 98000;
    figures->config = {{"TILE", figures == &slow ? 8 : 4}, {"STAGES", 3}};
    figures->time_ns.low = figures->time_ns.value - 100;
    figures->time_ns.high = figures->time_ns.value + 100;
  }
  slow.clock_mhz = 1638;
  fast.clock_mhz = 1655;
  EXPECT_THAT(why_faster(slow, explain(slow), fast, explain(fast)).because,
              Contains("clock: 1638 MHz | 1655 MHz, 1.0 % higher"));
  EXPECT_THAT(faster_text(slow, fast), AllOf(HasSubstr("TILE"), Not(HasSubstr("STAGES"))));
  // The launches of two instances of one template stood in two rows.
  slow.launches.front().entry = "k<8, 3>";
  fast.launches.front().entry = "k<4, 3>";
  fast.launches.front().blocks = 7;
  EXPECT_THAT(faster_text(slow, fast),
              ::testing::ContainsRegex("k  +[0-9]+ blocks .* \\| 7 blocks"));

  after.question = "N=2";
  EXPECT_THAT(why_faster(before, explain(before), after, explain(after)).headline,
              StartsWith("what they were timed for differs"));
  after.question = before.question;

  after.time_ns = {24990, 24900, 25100};
  EXPECT_THAT(why_faster(before, explain(before), after, explain(after)).headline,
              StartsWith("their samples cannot tell them apart"));
}

TEST(ExplainView, HasTheFiguresThatSentencesFollowFrom) {
  Figures figures = plain();
  figures.memory_ns = 23124;
  const std::string whole = explain_text(figures, explain(figures));
  EXPECT_THAT(whole, HasSubstr("95.4 MiB that must be moved take 23.12 us"));
  for (const std::size_t columns : {60, 80, 120}) {
    for (const std::string& text : {explain_text(figures, explain(figures), {columns}),
                                    faster_text(figures, plain(), {columns})}) {
      expect_fits(text, columns);
    }
  }
  const nlohmann::ordered_json json = explain_json(figures, explain(figures));
  EXPECT_EQ(json["main_cause"], "memory");
  EXPECT_EQ(json["figures"]["bytes"], 100e6);
  EXPECT_EQ(json["causes"][0]["kind"], "limit");
}

}  // namespace
}  // namespace assay
