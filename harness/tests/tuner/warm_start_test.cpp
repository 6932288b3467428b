#include "warm_start.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "tuner/tuner_fixture.h"

namespace assay::test {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class WarmStartTest : public TunerTest {
 protected:
  /// Gives the kernel these parameters, and stores 150 of its configurations, or all if they are
  /// fewer. How long one takes is up to its BLOCK.
  void try_some_with(const std::string& params) {
    std::string yaml = kAddYaml;
    yaml.replace(yaml.find("params:"), yaml.find("args:") - yaml.find("params:"),
                 "params: {" + params + "}\n");
    folder_.write("kernels/add.yaml", yaml);
    sweep_ = load_sweep(folder_ / "test.yaml", folder_ / "kernels");
    device_.on_run = [](const TrialRequest& request) {
      return timed(1000 * static_cast<double>(block_of(request.plan.config)));
    };
    sweep_.search.strategy = Strategy::random;
    sweep_.search.budget_configs = 150;
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
  sweep_.search.strategy = Strategy::local;
  sweep_.search.budget_configs = 3;
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
  EXPECT_THAT(block_of(device_.ran[1].plan.config), AnyOf(6, 8));
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
  EXPECT_THAT(last, Not(IsEmpty()));
  for (const std::size_t index : last) {
    // Two differ where the values of two parameters are exchanged.
    EXPECT_LE(
        std::min(points.num_different(index, first[0]), points.num_different(index, first[1])), 2u);
  }
}

// A product of 2048x11008x4096 was 3 % slower than with another order of its tiles. That was one
// parameter away, but the model, which had seen it matter nowhere, never asked for it.
TEST_F(WarmStartTest, InTheEndEveryParameterOfTheFastestIsChangedBeforeOneIsChangedTwice) {
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
  const std::size_t fastest =
      std::min_element(history.begin(), history.end(), [](const auto& a, const auto& b) {
        return a.time_ns < b.time_ns;
      })->index;
  const std::vector<std::size_t> winners = warm_start.next({}, 2);
  const std::vector<std::size_t> last = warm_start.next(history, 16);
  std::vector<int> num_tried(8);  // by parameter
  const auto count = [&](std::size_t index) {
    if (points.num_different(index, fastest) != 1) return;
    for (std::size_t i = 0; i < 8; ++i) num_tried[i] += points[index][i] != points[fastest][i];
  };
  for (const Observation& seen : history) count(seen.index);
  const int most_before = *std::max_element(num_tried.begin(), num_tried.end());
  for (const std::size_t index : last) count(index);
  const auto [least, most] = std::minmax_element(num_tried.begin(), num_tried.end());
  EXPECT_GE(*least, 1);
  EXPECT_LE(*most, std::max(most_before, *least + 1));
  // Of a parameter's values the winners' come first.
  int num_ordered = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    const auto is_of_winner = [&](std::size_t index) {
      return points[index][i] == points[winners[0]][i] || points[index][i] == points[winners[1]][i];
    };
    std::vector<bool> of_winner;  // by turn
    for (const std::size_t index : last) {
      if (points.num_different(index, fastest) != 1 || points[index][i] == points[fastest][i]) {
        continue;
      }
      of_winner.push_back(is_of_winner(index));
    }
    EXPECT_TRUE(std::is_sorted(of_winner.begin(), of_winner.end(), std::greater<>())) << i;
    num_ordered += std::set(of_winner.begin(), of_winner.end()).size() == 2;
  }
  EXPECT_GT(num_ordered, 0);
}

/// Some that have BLOCK=1 are known, and the fastest, which has BLOCK=5, B=1 and G=6.
class WarmStartAtItsEnd : public WarmStartTest {
 protected:
  void SetUp() override {
    WarmStartTest::SetUp();
    try_some_with(
        "BLOCK: [1, 2, 3, 4, 5, 6, 7, 10, 15], B: [0, 1], C: [0, 1], D: [0, 1], E: [0, 1], "
        "F: [0, 1], G: [2, 3, 5, 6]");
    space_.emplace(sweep_.kernels.front(), problem_, device_.info());
    space_->for_each([&](const std::vector<int>& point) { return points_.add(point), true; });
    warm_start_.emplace(Store::open_readonly(db()), sweep_.kernels.front(), problem_,
                        device_.info(), *space_, points_);
    for (std::size_t i = 0; i < 29; ++i) {
      history_.push_back({i, Observation::Is::timed, 2000 + static_cast<double>(i)});
    }
    history_.push_back({at({4, 1, 0, 0, 0, 0, 3}), Observation::Is::timed, 1000});
  }
  std::size_t at(const std::vector<int>& point) const { return *points_.find(point); }
  /// Without the two winners, which come first.
  std::vector<std::size_t> next(std::size_t count) {
    std::vector<std::size_t> next = warm_start_->next(history_, 2 + count);
    next.erase(next.begin(), next.begin() + 2);
    return next;
  }

  const Problem problem_ = {{"N", 3000}};
  std::optional<Space> space_;
  Points points_{{9, 2, 2, 2, 2, 2, 4}};
  std::optional<WarmStart> warm_start_;
  std::vector<Observation> history_;
};

// A product of 256x4096x4096 ended with tiles of 128 x 64, and those of 64 x 128 were faster: 64 x
// 64 and 128 x 128, which are one parameter away, were slow.
TEST_F(WarmStartAtItsEnd, ItTriesWhatHasTheSameProductOfTwoParameters) {
  const std::size_t num_params = 7;
  EXPECT_THAT(next(num_params + 1),
              AnyOf(Contains(at({5, 1, 0, 0, 0, 0, 2})), Contains(at({7, 1, 0, 0, 0, 0, 1})),
                    Contains(at({8, 1, 0, 0, 0, 0, 0}))));
  const std::vector<std::size_t> all = next(points_.size());
  EXPECT_THAT(all, Contains(at({5, 1, 0, 0, 0, 0, 2})));
  EXPECT_THAT(all, Contains(at({7, 1, 0, 0, 0, 0, 1})));
  EXPECT_THAT(all, Contains(at({8, 1, 0, 0, 0, 0, 0})));
  // A flag that is off is no factor of anything.
  EXPECT_THAT(all, Not(Contains(at({4, 0, 1, 0, 0, 0, 3}))));
}

// A search of 2048x2048x2048 found six faster points one after another, and at each it changed anew
// what had made the one before a third slower.
TEST_F(WarmStartAtItsEnd, WhatMadeAnotherPointSlowerComesLater) {
  const std::size_t num_params = 7, with_d = at({4, 1, 0, 1, 0, 0, 3});
  EXPECT_THAT(next(num_params + 1), Contains(with_d));
  for (Observation& seen : history_) {
    if (points_[seen.index][3] == 1) seen.time_ns *= 1.3;
  }
  EXPECT_THAT(next(num_params), Not(Contains(with_d)));
  EXPECT_THAT(next(points_.size()), Contains(with_d));
}

}  // namespace
}  // namespace assay::test
