#include "report/trials_view.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/example_rows.h"

namespace assay {
namespace {

using example::problem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(ProblemView, JsonOfNoTimeIsNull) {
  Results results;
  results.trials = {
      example::failure(problem(16, 4096), "BLOCK_M=8,STAGES=3", Status::compile, "error", "no")};
  const auto json = nlohmann::json::parse(problem_view_json(results));
  EXPECT_EQ(json["problems"][0]["screening"]["time_ns"], nullptr);
  EXPECT_EQ(json["problems"][0]["screening"]["num_trials_to_best"], nullptr);
  EXPECT_TRUE(json["problems"][0]["reranks"].empty());
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
    std::istringstream lines(problem_text(example_results(), {columns}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(width_of(line), columns) << line;
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
