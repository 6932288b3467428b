#include "tuner/warm_start.h"

#include <algorithm>
#include <cmath>

#include "matchers.h"
#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

using testing::AnyOf;

class WarmStartTest : public TunerTest {
 protected:
  /// Gives the kernel these parameters, and stores 150 of its configurations, or all if they are
  /// fewer. How long one takes is up to its BLOCK.
  void try_some_with(const std::string& params) {
    load_with(params);
    search_by(Strategy::random, 150);
    run();
  }
};

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
  search_by(Strategy::model, 3);
  run();
  ASSERT_THAT(device_.ran, SizeIs(3));
  EXPECT_EQ(block_of(device_.ran[0].plan.config), 9);
  EXPECT_EQ(block_of(device_.ran[1].plan.config), 4);
  EXPECT_THAT(block_of(device_.ran[2].plan.config), AnyOf(8, 10));

  sweep_.name = "cold";
  sweep_.problems = {{{"N", 1020}}};
  options_.cold_start = true;
  device_.ran.clear();
  run();
  std::vector<std::int64_t> cold;
  for (const TrialRequest& request : device_.ran) cold.push_back(block_of(request.plan.config));
  EXPECT_THAT(cold, SizeIs(3));
  EXPECT_THAT(cold, Not(ElementsAre(9, 4, testing::_)));
  EXPECT_EQ(report_.carried_over, 0u);
}

// A recording of the same problem from another GPU, or of the kernel before an edit, was left out.
TEST_F(WarmStartTest, ASearchThatLearnsTriesFirstWhatWonForTheProblemItselfBeforeAnEdit) {
  device_.on_run = [](const TrialRequest& request) {
    return timed(1000 + static_cast<double>(100 * std::abs(block_of(request.plan.config) - 7)));
  };
  run();
  folder_.write("kernels/add.cu", "extern \"C\" __global__ void add() {}  // edited\n");
  load("test.yaml");
  search_by(Strategy::model, 2);
  device_.ran.clear();
  run();
  ASSERT_THAT(device_.ran, SizeIs(2));
  EXPECT_EQ(block_of(device_.ran[0].plan.config), 7);
  EXPECT_THAT(block_of(device_.ran[1].plan.config), AnyOf(6, 8));
}

// Fast is what makes 16 blocks, so the winners of one problem are slow for another. What is alike
// is what `let` counts.
TEST_F(WarmStartTest, ASearchThatLearnsCarriesOverWhatLetCounts) {
  load_with("BLOCK: {from: 1, to: 30, step: 1}, HIGH: {from: 1, to: 30, step: 1}",
            "let: {blocks: cdiv(N, BLOCK * HIGH)}\n");
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
  search_by(Strategy::random, 150);
  run();
  device_.ran.clear();
  sweep_.problems = {{{"N", 3000}}};
  search_by(Strategy::model, 30);
  const SweepReport report = run();
  ASSERT_THAT(device_.ran, SizeIs(30));
  // The two winners are slow. What follows them was chosen with nothing measured.
  const auto num_fast = std::count_if(
      device_.ran.begin(), device_.ran.begin() + 24,
      [&](const TrialRequest& request) { return std::abs(blocks(request) - 16) <= 3; });
  EXPECT_GE(num_fast, 15);
  EXPECT_GE(report.carried_over, 24u);
}

// A product of 512x512x16384 was 10 % slower than it could be. What had won for 256x256x32768 split
// K by 16, which made four times the blocks that run at once. A split by 4 was never tried.
TEST_F(WarmStartTest, ItTriesWhatFillsTheDeviceAsAWinnerDidForItsProblem) {
  std::string yaml = kAddYaml;
  yaml.replace(yaml.find("params:"), yaml.find("args:") - yaml.find("params:"),
               "params: {BLOCK: [1, 2, 4, 8, 16, 32], HIGH: [1, 2, 4, 8, 16]}\n");
  yaml.replace(yaml.find("cdiv(N, BLOCK)"), 14, "cdiv(N, BLOCK * HIGH)");
  folder_.write("kernels/add.yaml", yaml);
  load("test.yaml");
  const auto high_of = [](const TrialRequest& request) {
    return std::get<std::int64_t>(request.plan.config[1].second);
  };
  device_.on_run = [&](const TrialRequest& request) {
    const bool is_best = block_of(request.plan.config) == 8 && high_of(request) == 2;
    return timed(is_best ? 1000 : 2000);
  };
  sweep_.problems = {{{"N", 1600}}};  // 100 blocks of 132 SMs
  run();
  device_.ran.clear();
  sweep_.problems = {{{"N", 6400}}};
  search_by(Strategy::model, 3);  // the fastest two, and what the fastest becomes
  run();
  ASSERT_THAT(device_.ran, SizeIs(3));
  EXPECT_EQ(block_of(device_.ran[0].plan.config) * high_of(device_.ran[0]), 16);
  EXPECT_EQ(block_of(device_.ran[2].plan.config) * high_of(device_.ran[2]), 64);
}

// A product of 256x4096x4096 got 20 configurations that agreed in the size of their tiles, and was
// 20 % slower than it could be.
TEST_F(WarmStartTest, WhatTheModelProposesUnseenIsNotOneConfigurationManyTimes) {
  try_some_with(
      "BLOCK: [1, 2], B: [1, 2], C: [1, 2], D: [1, 2], E: [1, 2], F: [1, 2], G: [1, 2], "
      "H: [1, 2], I: [1, 2], J: [1, 2]");
  const KernelSpec& kernel = sweep_.kernels.front();
  const Problem problem = {{"N", 3000}};
  const Space space(kernel, problem, device_.info());
  Points points(std::vector<int>(10, 2));
  space.for_each([&](const std::vector<int>& point) { return points.add(point), true; }, 10'000);
  WarmStart warm_start(Store::open_readonly(db()), kernel, problem, device_.info(), space, points);
  const std::vector<std::size_t> first = warm_start.next({}, 12);
  ASSERT_THAT(first, SizeIs(12));
  const std::size_t num_winners = 2;
  for (std::size_t i = num_winners; i < 12; ++i) {
    for (std::size_t j = num_winners; j < i; ++j)
      EXPECT_GE(points.num_different(first[i], first[j]), 2u);
  }
  // In the end it looks closely: at the neighbours of the two that were fastest.
  std::vector<Observation> history;
  double time_ns = 1000;
  const auto observe = [&](const std::vector<std::size_t>& tried) {
    for (const std::size_t index : tried) {
      history.push_back({index, Observation::Is::timed, time_ns});
      time_ns += 10;
    }
  };
  observe(first);
  observe(warm_start.next(history, 20));
  ASSERT_THAT(history, SizeIs(32));
  const std::vector<std::size_t> last = warm_start.next(history, 12);
  std::size_t num_near = 0;
  for (const std::size_t index : last) {
    // Two differ where the values of two parameters are exchanged.
    num_near +=
        std::min(points.num_different(index, first[0]), points.num_different(index, first[1])) <= 2;
  }
  EXPECT_GE(2 * num_near, last.size());
  EXPECT_GE(num_near, 4);
}

// A product of 2048x11008x4096 was 3 % slower than with another order of its tiles. That was one
// parameter away, but the model, which had seen it matter nowhere, never asked for it.
TEST_F(WarmStartTest, InTheEndTheFastestIsRefined) {
  try_some_with(
      "BLOCK: [1, 2, 3, 4], B: [1, 2, 3, 4], C: [1, 2, 3, 4], D: [1, 2, 3, 4], "
      "E: [1, 2, 3, 4], F: [1, 2, 3, 4], G: [1, 2, 3, 4], H: [1, 2, 3, 4]");
  const KernelSpec& kernel = sweep_.kernels.front();
  const Problem problem = {{"N", 3000}};
  const Space space(kernel, problem, device_.info());
  Points points(std::vector<int>(8, 4));
  space.for_each([&](const std::vector<int>& point) { return points.add(point), true; });
  WarmStart warm_start(Store::open_readonly(db()), kernel, problem, device_.info(), space, points);
  std::vector<Observation> history;
  while (history.size() < 30) {
    for (const std::size_t index : warm_start.next(history, 5)) {
      history.push_back({index, Observation::Is::timed, 1000 + static_cast<double>(index)});
    }
  }
  const std::size_t fastest = fastest_first(points, history).front().index;
  int num_near = 0;
  for (const std::size_t index : warm_start.next(history, 8)) {
    num_near += points.num_different(index, fastest) == 1;
  }
  EXPECT_GE(num_near, 4);
}

}  // namespace
}  // namespace assay::test
