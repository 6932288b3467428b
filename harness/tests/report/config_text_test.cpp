#include "report/config_text.h"

#include <set>

#include "matchers.h"

namespace assay {
namespace {

using ::testing::Pair;

Config config(std::int64_t m, std::int64_t stages, const std::string& schedule) {
  return {{"BLOCK_M", m}, {"STAGES", stages}, {"SCHEDULE", schedule}};
}

TEST(Abbreviate, TakesInitialsAndMoreLettersOnlyWhereTwoWouldMeet) {
  EXPECT_THAT(
      abbreviate({"BLOCK_M", "BLOCK_N", "STAGES", "SPLIT_K", "SCHEDULE"}),
      UnorderedElementsAre(Pair("BLOCK_M", "BM"), Pair("BLOCK_N", "BN"), Pair("SPLIT_K", "SK"),
                           Pair("STAGES", "ST"), Pair("SCHEDULE", "SC")));
}

TEST(Abbreviate, NeverGivesTwoNamesOneText) {
  const std::vector<std::string> names{"A",   "AB",   "ABC", "A_B",  "A_BC",   "AB_C",
                                       "A_1", "A_16", "_",   "A__B", "X",      "XX",
                                       "X_X", "XX_X", "B_M", "BM",   "BLOCK_M"};
  const auto result = abbreviate(names);
  std::set<std::string> texts;
  for (const auto& [name, text] : result) texts.insert(text);
  EXPECT_EQ(result.size(), names.size());
  EXPECT_EQ(texts.size(), names.size());
}

TEST(ConfigText, WideHidesNothing) {
  const std::vector<Config> configs{config(64, 3, "row"), config(128, 3, "row")};
  const ConfigText text("gemm", configs, true);
  EXPECT_EQ(text.line(configs[0]), "BLOCK_M=64 STAGES=3 SCHEDULE=row");
  EXPECT_EQ(text.note(), "");
}

TEST(ProblemLess, SortsByNumberNotByText) {
  EXPECT_TRUE(problem_less({{"M", 16}}, {{"M", 128}}));
  EXPECT_FALSE(problem_less({{"M", 128}}, {{"M", 16}}));
  EXPECT_FALSE(problem_less({{"M", 16}}, {{"M", 16}}));
}

TEST(MeasuredText, SaysWhoseGpuAndWhen) {
  EXPECT_EQ(measured_text("", "2026-11-21T10:00:00Z"), "here, 2026-11-21");
  EXPECT_EQ(measured_text("recorded on NVIDIA H200, 2026-11-20", "2026-11-21T10:00:00Z"),
            "recorded on NVIDIA H200, 2026-11-20");
}

}  // namespace
}  // namespace assay
