#include "report/trials_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "matchers.h"
#include "report/example_rows.h"
#include "report/golden.h"
#include "report/table.h"

namespace assay {
namespace {

using example::problem;

std::vector<TrialRow> rows() {
  return {example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=64,STAGES=3", 2000),
          example::trial(problem(16, 64), "gemm_mma", "BLOCK_M=128,STAGES=3", 1000),
          example::failure(problem(16, 64), "BLOCK_M=256,STAGES=3", Status::compile, "error",
                           "\ngemm.cu(12): error: too much shared memory\n1 error detected\n"),
          example::failure(problem(16, 64), "BLOCK_M=256,STAGES=4", Status::correctness, "mismatch",
                           "C[3, 5] is 0 and should be 1.5")};
}

TEST(TrialText, MatchesGolden) {
  TrialRow row = rows()[0];
  row.record.outcome.validation = Validation{0.0012, 0.004, 0.5, 1024};
  row.record.outcome.timing->samples_ns.clear();
  for (int i = 0; i < 200; ++i) {
    row.record.outcome.timing->samples_ns.push_back(1900 + (i * 7 % 40) * (i % 3));
  }
  row.record.outcome.timing->samples_ns.push_back(9000);
  expect_golden("trial.txt", trial_text(row));
}

TEST(TrialText, ShowsTheClockAndWhatHeldItDown) {
  TrialRow row = example::trial(problem(16, 64), "gemm_mma", "STAGES=3", 2000);
  Timing& timing = *row.record.outcome.timing;
  timing.clocks_mhz = {1980, 0, 1755, 1965};
  timing.clock_mhz = 1965;
  timing.state = GpuState{0x4, 699.6, 61};
  timing.stop = StopReason::raced;
  const std::string text = trial_text(row);
  EXPECT_THAT(text, HasSubstr("1965 MHz median of the SMs, 1755 .. 1980"));
  EXPECT_THAT(text, HasSubstr("700 W, 61 C, throttled: power cap"));
  EXPECT_THAT(text, HasSubstr("stopped early"));
  EXPECT_THAT(times_text({row}, 0), HasSubstr("1965 MHz"));
  EXPECT_THAT(times_text({row}, 0), HasSubstr("correct, stopped early"));
  EXPECT_EQ(nlohmann::json::parse(trial_json(row))["timing"]["state"]["power_w"], 699.6);
  timing.clocks_mhz.clear();  // as from a recording
  EXPECT_THAT(trial_text(row), HasSubstr("1965 MHz median of the SMs\n"));
}

// `assay profile` said that `assay show` has what it counted, and it had not.
TEST(TrialText, HasWhatWasCounted) {
  TrialRow row = example::trial(problem(16, 64), "gemm_mma", "STAGES=3", 2000);
  EXPECT_THAT(trial_text(row), Not(HasSubstr("beside the time")));
  row.record.measurements = {{"dram_read_bytes", 3 << 20, "B"},
                             {"l2_hit_rate", 97.25, "%"},
                             {"instructions", 1234567, ""},
                             {"copy", 1.5, "us"}};
  const std::string text = trial_text(row);
  EXPECT_THAT(text, HasSubstr("dram_read_bytes           3.0 MiB\n"));
  EXPECT_THAT(text, HasSubstr("l2_hit_rate                97.2 %\n"));
  EXPECT_THAT(text, HasSubstr("instructions              1234567\n"));
  EXPECT_THAT(text, HasSubstr("copy                       1.5 us\n"));
  const auto json = nlohmann::json::parse(trial_json(row))["measurements"];
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[1]["name"], "l2_hit_rate");
  EXPECT_EQ(json[1]["value"], 97.25);
  EXPECT_EQ(json[1]["unit"], "%");
}

TEST(TrialText, SaysWhoseTimesItHas) {
  TrialRow row = example::trial(problem(16, 64), "gemm_mma", "STAGES=3", 2000);
  row.record.outcome.same_as = "STAGES=2";
  EXPECT_THAT(trial_text(row), HasSubstr("same machine code and launches as STAGES=2; check and"));
  EXPECT_EQ(nlohmann::json::parse(trial_json(row))["same_as"], "STAGES=2");
}

TEST(TrialText, SaysHowManySamplesWereThrottledAndWhatTheDriverSays) {
  TrialRow row = example::trial(problem(16, 64), "gemm_mma", "STAGES=3", 2000);
  Timing& timing = *row.record.outcome.timing;
  EXPECT_THAT(trial_text(row), Not(HasSubstr("throttled")));
  timing.num_throttled = 3;
  EXPECT_THAT(trial_text(row), HasSubstr("  GPU           throttled 3x\n"));
  timing.state = GpuState{0x4, 699.6, 61};
  EXPECT_THAT(trial_text(row), HasSubstr("700 W, 61 C, throttled 3x: power cap\n"));
  timing.state->throttle_reasons = 0;
  EXPECT_THAT(trial_text(row), HasSubstr("700 W, 61 C, throttled 3x\n"));
  EXPECT_EQ(nlohmann::json::parse(trial_json(row))["timing"]["num_throttled"], 3);
  timing.num_throttled = 0;
  EXPECT_THAT(trial_text(row), HasSubstr("700 W, 61 C, not throttled\n"));
}

TEST(TrialText, ShowsHowNearTheCeilingsATimeIs) {
  TrialRow row = example::trial(problem(16, 64), "gemm_mma", "STAGES=3", 2000);
  EXPECT_THAT(trial_text(row), Not(HasSubstr("roofline")));
  EXPECT_THAT(times_text({row}, 0), Not(HasSubstr("roofline")));
  EXPECT_TRUE(nlohmann::json::parse(trial_json(row))["timing"]["roofline_ns"].is_null());
  const TrialRow unknown = row;
  row.record.outcome.timing->roofline_ns = 1620;
  EXPECT_THAT(trial_text(row), HasSubstr("81 %: the device's ceilings allow 1.620 us"));
  EXPECT_THAT(times_text({row, unknown}, 0),
              AllOf(HasSubstr("2.000 us      81 %"), HasSubstr("2.000 us         -")));
  EXPECT_EQ(nlohmann::json::parse(trial_json(row))["timing"]["roofline_ns"], 1620);
}

TEST(TrialText, AFailureShowsTheWholeMessage) {
  const std::string text = trial_text(rows()[2]);
  EXPECT_THAT(text, HasSubstr("compile/error"));
  EXPECT_THAT(text, HasSubstr("  gemm.cu(12): error: too much shared memory\n  1 error detected"));
}

TEST(TrialJson, SurvivesALogThatIsNotUtf8) {
  TrialRow row = rows()[2];
  row.record.outcome.message = "bad \xFF byte";
  const auto json = nlohmann::json::parse(trial_json(row));
  EXPECT_THAT(json["message"].get<std::string>(), HasSubstr("bad "));
  EXPECT_TRUE(json["timing"].is_null());
}

TEST(Counts, SumToTheNumberOfTrials) {
  const auto json = nlohmann::json::parse(counts_json(rows()));
  int total = 0;
  for (const auto& line : json["counts"]) total += line["num_trials"].get<int>();
  EXPECT_EQ(total, 4);
  EXPECT_EQ(json["counts"].size(), 3U);
  EXPECT_THAT(counts_text(rows()), HasSubstr("correctness  mismatch       1"));
}

TEST(Times, SayHowManyAreLeftOut) {
  EXPECT_THAT(times_text(timed_trials(rows()), 1), HasSubstr("1 more"));
  EXPECT_THAT(times_text(timed_trials(rows()), 2), Not(HasSubstr("more")));
}

TEST(Failures, ShowTheFirstLineThatSaysSomething) {
  const std::string text = failures_text(failed_trials(rows()), 0);
  EXPECT_THAT(text, HasSubstr("gemm.cu(12): error: too much shared memory"));
  EXPECT_THAT(text, Not(HasSubstr("1 error detected")));
  EXPECT_THAT(text, Not(HasSubstr("STAGES=3  correct")));
  EXPECT_THAT(failures_text(failed_trials(rows()), 1), HasSubstr("1 more"));
  for (const std::size_t columns : {60, 80, 120}) {
    expect_fits(failures_text(failed_trials(rows()), 0, {columns}), columns);
  }
}

TEST(Failures, CutALongReasonBetweenCharacters) {
  std::string message;
  for (int i = 0; i < 100; ++i) message += "\xC3\xA9";
  const auto text =
      failures_text({example::failure(problem(1, 1), "A=1", Status::compile, "error", message)}, 0);
  EXPECT_THAT(text, HasSubstr("\xC3\xA9..."));
}

TEST(TrialsJson, HoldsTheLimitAndSaysWhatIsLeft) {
  const auto json = nlohmann::json::parse(trials_json(failed_trials(rows()), 1));
  EXPECT_EQ(json["trials"].size(), 1U);
  EXPECT_EQ(json["num_left_out"], 1);
}

// A NaN became a negative index, and `show ID` wrote outside the heap.
TEST(Histogram, NumbersThatAreNoneAreCountedAndLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const double largest = std::numeric_limits<double>::max();
  const std::string text = histogram({nan, 1, 2, nan, infinity, -infinity, 3}, 10);
  EXPECT_THAT(text, HasSubstr("4 of 7 samples are no numbers"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '#'), 25 + 50);
  EXPECT_EQ(histogram({nan, nan}, 10), "2 of 2 samples are no numbers\n");
  std::vector<double> many(1000, nan);
  for (std::size_t i = 0; i < many.size(); i += 3) many[i] = largest / 1e3 * static_cast<double>(i);
  many[1] = -largest;
  EXPECT_THAT(histogram(many, 10), HasSubstr("665 of 1000 samples are no numbers"));
}

TEST(Times, ATimeThatIsNoNumberComesLast) {
  std::vector<TrialRow> unordered;
  for (int i = 0; i < 40; ++i) unordered.push_back(rows().back());
  for (std::size_t i = 0; i < unordered.size(); ++i) {
    unordered[i].record.outcome.timing.emplace().median_ns =
        i % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : 100.0 - static_cast<double>(i);
  }
  const std::vector<TrialRow> timed = timed_trials(unordered);
  EXPECT_EQ(timed.front().record.outcome.timing->median_ns, 62);
  EXPECT_TRUE(std::isnan(timed.back().record.outcome.timing->median_ns));
}

TEST(Histogram, EqualSamplesAreOneBar) {
  EXPECT_EQ(histogram({}, 10), "");
  const std::string text = histogram({5, 5, 5}, 10);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

Results example_results() {
  Results results;
  for (const double median_ns : {20'000.0, 25'000.0, 10'000.0, 12'000.0}) {
    results.trials.push_back(
        example::trial(problem(16, 4096), "gemm_mma", "BLOCK_M=64,STAGES=3", median_ns));
  }
  results.trials.insert(
      results.trials.begin(),
      example::failure(problem(16, 4096), "BLOCK_M=8,STAGES=3", Status::compile, "error", "no"));
  results.ranks = {
      example::rank(problem(16, 4096), "gemm_mma", "BLOCK_M=64,STAGES=3", 10'000, 10'030)};
  results.ranks[0].record.entries[1].eliminated = true;
  return results;
}

TEST(ProblemView, TellsTheSearchAndTheTimes) {
  const std::string text = problem_text(example_results());
  EXPECT_THAT(text, HasSubstr("gemm_bf16 M=16,N=4096 on NVIDIA H200, protocol cold\n"));
  EXPECT_THAT(text, HasSubstr("best time of the screening: 10.00 us, found by trial 4 of 5\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("winner    10.00 us"), HasSubstr("baseline  10.03 us")));
  EXPECT_THAT(text, Not(HasSubstr("STAGES=9")));  // dropped out after the first rounds
  EXPECT_THAT(text, Not(HasSubstr("█")));
}

// `show PROBLEM --json` once only counted the trials.
TEST(ProblemView, JsonSaysWhatTheTextDoes) {
  const auto json = nlohmann::json::parse(problem_view_json(example_results()));
  ASSERT_EQ(json["problems"].size(), 1u);
  const auto& shown = json["problems"][0];
  EXPECT_EQ(shown["op"], "gemm_bf16");
  EXPECT_EQ(shown["problem"], (nlohmann::json{{"M", 16}, {"N", 4096}}));
  EXPECT_EQ(shown["screening"]["num_trials"], 5);
  EXPECT_EQ(shown["screening"]["time_ns"], 10'000);
  EXPECT_EQ(shown["screening"]["num_trials_to_best"], 4);
  EXPECT_EQ(shown["screening"]["best_so_far_ns"],
            (nlohmann::json{nullptr, 20'000, 20'000, 10'000, 10'000}));
  const auto& entries = shown["reranks"][0]["entries"];
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0]["part"], "winner");
  EXPECT_EQ(entries[0]["config"], (nlohmann::json{{"BLOCK_M", 64}, {"STAGES", 3}}));
  EXPECT_EQ(entries[0]["baseline"], nullptr);
  EXPECT_EQ(entries[1]["part"], "baseline");
  EXPECT_EQ(entries[1]["time_ns"], 10'030);
}

TEST(ProblemView, DrawsBarsOfTheTimeUntilTheBestIsFound) {
  // Nothing after the trial that failed; half the height would be a time of 14.1 us.
  EXPECT_THAT(problem_text(example_results(), {120}), HasSubstr("   20.00 us  ██  \n"
                                                                "             ██  \n"
                                                                "             ██  \n"
                                                                "   10.00 us  ██▁▁\n"));
}

TEST(ProblemView, DrawsDistributionsOnOneScale) {
  // 10.000 +- 5 and 10.030 +- 5 ns share a scale, of which each takes a quarter, at the two ends.
  const std::string text = problem_text(example_results(), {120});
  std::vector<std::size_t> first, last;
  for (const char* part : {"  winner         10.00 us ", "  baseline       10.03 us "}) {
    const std::size_t at = text.find(part);
    ASSERT_NE(at, std::string::npos) << text;
    const std::string line = text.substr(at + std::string(part).size(),
                                         text.find('\n', at) - at - std::string(part).size());
    first.push_back(line.find_first_not_of(' '));
    last.push_back(line.size() - line.find_last_not_of(' '));
    EXPECT_THAT(line, HasSubstr("█"));
  }
  EXPECT_EQ(first[0], 0U);
  EXPECT_GT(first[1], 30U);
  EXPECT_EQ(last[1], 1U);
  EXPECT_GT(last[0], 30U);
}

// The drawing was 86 columns wide whatever the terminal was.
TEST(ProblemView, FitsTheTerminal) {
  for (const std::size_t columns : {60, 80, 120}) {
    expect_fits(problem_text(example_results(), {columns}), columns);
  }
}

TEST(ProblemView, SaysThatNothingHasATime) {
  Results results;
  results.trials = {
      example::failure(problem(16, 4096), "BLOCK_M=8,STAGES=3", Status::compile, "error", "no")};
  for (const std::size_t columns : {0, 80}) {
    EXPECT_THAT(problem_text(results, {columns}), HasSubstr("no trial of 1 has a time\n"));
  }
}

}  // namespace
}  // namespace assay
