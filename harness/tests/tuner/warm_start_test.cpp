#include "warm_start.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class WarmStartTest : public TunerTest {};

TEST_F(WarmStartTest, ASearchThatLearnsTriesWhatWasFastestForTheNearestProblemsFirst) {
  device_.on_run = [](const TrialRequest& request) {
    const std::int64_t size = std::get<std::int64_t>(request.plan.problem[0].second);
    const std::int64_t best = size == 1000 ? 9 : 4;
    const std::int64_t block = block_of(request.plan.config);
    return timed(1000 + static_cast<double>(100 * std::abs(block - best)));
  };
  sweep_.problems = {{{"N", 100}}, {{"N", 1000}}};
  run();
  device_.ran.clear();
  sweep_.name = "another";
  sweep_.problems = {{{"N", 1010}}};
  sweep_.search.strategy = Strategy::local;
  sweep_.search.budget_configs = 3;
  run();
  ASSERT_THAT(device_.ran, SizeIs(3));
  EXPECT_EQ(block_of(device_.ran[0].plan.config), 9);
  EXPECT_EQ(block_of(device_.ran[1].plan.config), 4);
  EXPECT_THAT(block_of(device_.ran[2].plan.config), testing::AnyOf(8, 10));

  sweep_.name = "cold";
  sweep_.problems = {{{"N", 1020}}};
  options_.cold_start = true;
  device_.ran.clear();
  run();
  std::vector<std::int64_t> cold;
  for (const TrialRequest& request : device_.ran) cold.push_back(block_of(request.plan.config));
  EXPECT_THAT(cold, SizeIs(3));
  EXPECT_THAT(cold, testing::Not(ElementsAre(9, 4, testing::_)));
  EXPECT_EQ(report_.carried_over, 0u);
}

// A recording of the same problem from another GPU, or of the kernel before an edit, was left out.
TEST_F(WarmStartTest, ASearchThatLearnsTriesFirstWhatWonForTheProblemItselfBeforeAnEdit) {
  device_.on_run = [](const TrialRequest& request) {
    return timed(1000 + static_cast<double>(100 * std::abs(block_of(request.plan.config) - 7)));
  };
  run();
  folder_.write("kernels/add.cu", "extern \"C\" __global__ void add() {}  // edited\n");
  sweep_ = load_sweep(folder_ / "test.yaml", folder_ / "kernels");
  sweep_.search.strategy = Strategy::local;
  sweep_.search.budget_configs = 2;
  device_.ran.clear();
  run();
  ASSERT_THAT(device_.ran, SizeIs(2));
  EXPECT_EQ(block_of(device_.ran[0].plan.config), 7);
  EXPECT_THAT(block_of(device_.ran[1].plan.config), testing::AnyOf(6, 8));
}

// Fast is what makes 16 blocks, so the winners of one problem are slow for another. What is alike
// is what `let` counts.
TEST_F(WarmStartTest, ASearchThatLearnsCarriesOverWhatLetCounts) {
  std::string yaml = kAddYaml, wide, high;
  for (int i = 3; i <= 30; ++i) wide += fmt::format(", {}", i), high += fmt::format(", {}", i);
  yaml.replace(yaml.find("params:"), yaml.find("args:") - yaml.find("params:"),
               fmt::format("params: {{BLOCK: [1, 2{}], HIGH: [1, 2{}]}}\n"
                           "let: {{blocks: cdiv(N, BLOCK * HIGH)}}\n",
                           wide, high));
  folder_.write("kernels/add.yaml", yaml);
  sweep_ = load_sweep(folder_ / "test.yaml", folder_ / "kernels");
  const auto blocks = [](const TrialRequest& request) {
    const double size = to_real(request.plan.problem[0].second);
    return std::ceil(size /
                     static_cast<double>(block_of(request.plan.config) *
                                         std::get<std::int64_t>(request.plan.config[1].second)));
  };
  device_.on_run = [&](const TrialRequest& request) {
    return timed(1000 * (1 + std::abs(std::log2(blocks(request) / 16))));
  };
  sweep_.problems = {{{"N", 1000}}, {{"N", 8000}}};
  sweep_.search.strategy = Strategy::random;
  sweep_.search.budget_configs = 150;
  run();
  device_.ran.clear();
  sweep_.problems = {{{"N", 3000}}};
  sweep_.search.strategy = Strategy::model;
  sweep_.search.budget_configs = 30;
  const SweepReport report = run();
  ASSERT_THAT(device_.ran, SizeIs(30));
  // The four winners are slow. What follows them was chosen with nothing measured.
  const auto num_fast = std::count_if(
      device_.ran.begin(), device_.ran.begin() + 24,
      [&](const TrialRequest& request) { return std::abs(blocks(request) - 16) <= 3; });
  EXPECT_GE(num_fast, 15);
  EXPECT_GE(report.carried_over, 24u);
}

}  // namespace
}  // namespace assay::test
