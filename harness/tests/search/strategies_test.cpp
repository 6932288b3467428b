#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>
#include <span>

#include "base/draw.h"
#include "matchers.h"
#include "search/gaussian.h"
#include "search/search.h"
#include "search/some_points.h"

namespace assay {
namespace {

/// Six parameters of 2 to 8 values; a constraint takes a fifth of the points.
Points tile_space() {
  return test::some_points({8, 8, 5, 2, 2, 3},
                           [](const test::Point& point) { return point[0] + point[1] < 11; });
}

/// As of a kernel: some parameters matter much, two only together, and there is some noise.
/// What has the last value of two parameters fails.
Observation result_of(const Points& points, std::size_t index) {
  const auto p = points[index];
  if (p[0] == 7 || (p[2] == 4 && p[5] == 2)) return {index, Observation::Is::failed, 0};
  double log_time = 0.05 * std::pow(p[0] - 4, 2) + 0.04 * std::pow(p[1] - 5, 2);
  log_time += p[3] ? 0.1 * std::abs(p[2] - 3) : 0.5;
  log_time += p[4] == (p[0] + p[1]) % 2 ? 0 : 0.05;
  log_time += 0.08 * std::sin(static_cast<double>(index * 2654435761u % 1000));
  return {index, Observation::Is::timed, 1000 * std::exp(log_time)};
}

SearchSpec search_by(Strategy strategy, std::uint64_t seed = 1) {
  SearchSpec search;
  search.strategy = strategy;
  search.seed = seed;
  search.budget_seconds = 60;  // so that `automatic` does not go through all
  return search;
}

/// In how many parameters two points differ.
int distance(const Points& points, std::size_t a, std::size_t b) {
  const auto one = points[a], other = points[b];
  return std::inner_product(one.begin(), one.end(), other.begin(), 0, std::plus<>(),
                            std::not_equal_to<>());
}

using Trial = std::function<Observation(std::size_t index)>;

/// What `evaluations` find, `batch` at a time, `history` among them.
std::vector<Observation> run(const Points& points, const SearchSpec& search,
                             std::size_t evaluations, std::size_t batch, const Trial& trial,
                             std::vector<Observation> history = {}) {
  while (history.size() < evaluations) {
    const auto proposed = propose(search, points, history, batch);
    if (proposed.empty()) break;
    for (const std::size_t index : proposed) history.push_back(trial(index));
  }
  return history;
}

std::vector<Observation> run(const Points& points, const SearchSpec& search,
                             std::size_t evaluations, std::size_t batch = 5) {
  return run(points, search, evaluations, batch,
             [&](std::size_t index) { return result_of(points, index); });
}

/// The values of a point describe it.
void describe_by_values(Points& points) {
  points.describe_by([&](std::size_t index) {
    return std::vector<float>(points[index].begin(), points[index].end());
  });
}

double best_of(const std::vector<Observation>& history) {
  double best_ns = 1e9;
  for (const Observation& seen : history) {
    if (seen.is == Observation::Is::timed) best_ns = std::min(best_ns, seen.time_ns);
  }
  return best_ns;
}

TEST(Points, FindsItsOwnAndNoOthers) {
  const Points points = tile_space();
  for (std::size_t i = 0; i < points.size(); ++i) ASSERT_EQ(points.find(points[i]), i);
  EXPECT_FALSE(points.find(std::vector<int>{7, 7, 0, 0, 0, 0}));
  EXPECT_FALSE(points.find(std::vector<int>{9, 0, 0, 0, 0, 0}));
}

TEST(Points, NeighboursDifferInOneParameterAndAreValid) {
  Points points({3, 3});
  for (const auto& [a, b] : {std::pair(0, 0), {0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 0}}) {
    points.add(std::vector<int>{a, b});
  }
  EXPECT_THAT(points.neighbours(0), UnorderedElementsAre(1, 2, 3, 5));
  EXPECT_THAT(points.neighbours(2), UnorderedElementsAre(0, 1));
  EXPECT_THAT(points.neighbours(4), UnorderedElementsAre(1, 3));
}

TEST(Model, TriesEveryPointOnceInTheEnd) {
  const Points points = test::some_points({4, 5, 3}, [](const test::Point&) { return true; });
  const auto history = run(points, search_by(Strategy::model), 1000, 7);
  std::set<std::size_t> tried;
  for (const Observation& seen : history) tried.insert(seen.index);
  EXPECT_EQ(history.size(), 60u);
  EXPECT_EQ(tried.size(), 60u);
}

TEST(Model, IsAFunctionOfWhatItIsTold) {
  const Points points = tile_space();
  const auto history = run(points, search_by(Strategy::model), 60);
  EXPECT_EQ(propose(search_by(Strategy::model), points, history, 5),
            propose(search_by(Strategy::model), points, history, 5));
  EXPECT_NE(propose(search_by(Strategy::model, 2), points, {}, 5),
            propose(search_by(Strategy::model, 1), points, {}, 5));
}

TEST(Model, IsMuchBetterThanRandom) {
  const Points points = tile_space();
  const auto median_of = [&](Strategy strategy) {
    std::vector<double> best;
    for (std::uint64_t seed = 1; seed <= 11; ++seed) {
      best.push_back(best_of(run(points, search_by(strategy, seed), 100)));
    }
    std::sort(best.begin(), best.end());
    return best[5];
  };
  std::vector<Observation> all;
  for (std::size_t i = 0; i < points.size(); ++i) all.push_back(result_of(points, i));
  const double optimum = best_of(all), random = median_of(Strategy::random);
  EXPECT_LT(median_of(Strategy::model) - optimum, 0.6 * (random - optimum));
}

TEST(Model, KeepsToTheBudget) {
  SearchSpec search = search_by(Strategy::model);
  search.budget_configs = 33;
  EXPECT_EQ(run(tile_space(), search, 1000, 10).size(), 33u);
}

TEST(Model, ProposesOthersWhileAllIsUnderWay) {
  const Points points = tile_space();
  std::set<std::size_t> proposed;
  for (const Observation& each : run(points, search_by(Strategy::model), 90, 9,
                                     [](std::size_t index) { return Observation{index}; })) {
    proposed.insert(each.index);
  }
  EXPECT_EQ(proposed.size(), 90u);
}

TEST(Model, GoesOnWhenEverythingFails) {
  const auto fails = [](std::size_t index) { return Observation{index, Observation::Is::failed}; };
  EXPECT_EQ(run(tile_space(), search_by(Strategy::model), 100, 10, fails).size(), 100u);
}

/// Times that follow from what no parameter shows alone.
TEST(Model, LearnsFromWhatDescribesPoints) {
  Points points = tile_space();
  const auto hidden = [](std::size_t index) {
    return static_cast<double>(index * 2654435761u % 1009) / 1009;
  };
  const auto trial = [&](std::size_t index) {
    return Observation{index, Observation::Is::timed, 1000 * (1 + hidden(index))};
  };
  const auto mean_best = [&] {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      sum += best_of(run(points, search_by(Strategy::model, seed), 80, 5, trial)) - 1000;
    }
    return sum / 8;
  };
  const double by_indices = mean_best();
  points.describe_by([&](std::size_t index) {
    return std::vector<float>{static_cast<float>(std::abs(hidden(index) - 0.5)),
                              static_cast<float>(hidden(index) > 0.5)};
  });
  EXPECT_LT(mean_best(), 0.5 * by_indices);
}

/// All points of so many parameters that have as many values each.
Points all_points(std::size_t num_params, int num_values) {
  return test::some_points(test::Point(num_params, num_values),
                           [](const test::Point&) { return true; });
}

// A sweep compiles several configurations at a time. Where most parameters have no effect, all of
// them once were the fastest so far with other values of such.
TEST(Model, ProposesPointsThatAreApart) {
  const Points points = all_points(13, 2);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SearchSpec search = search_by(Strategy::model, seed);
    std::vector<Observation> history;
    while (history.size() < 60) {
      const std::vector<std::size_t> proposed = propose(search, points, history, 6);
      for (std::size_t i = 0; i < proposed.size() && history.size() >= 24; ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          EXPECT_GE(distance(points, proposed[i], proposed[j]), 3);
        }
      }
      for (const std::size_t index : proposed) {
        const std::span<const int> point = points[index];
        history.push_back({index, Observation::Is::timed, 1000.0 + 400 * point[0] + 90 * point[1]});
      }
    }
  }
}

// Where a constraint ties two parameters, as a split of K and blocks that stay, only a change of
// both is valid. The search once looked around the fastest for changes of one.
TEST(Model, LooksAtWhatDiffersInTwoParameters) {
  const Points all = all_points(17, 2);
  Points points(all.num_values());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::accumulate(all[i].begin(), all[i].end(), 0) % 2 == 0) points.add(all[i]);
  }
  const std::size_t fastest = 12345;
  ASSERT_EQ(points.neighbours(fastest).size(), 0u);
  std::vector<Observation> history = {{fastest, Observation::Is::timed, 1000}};
  for (std::size_t index = 0; history.size() < 30; index += 1999) {
    history.push_back(
        {index, Observation::Is::timed, 1000.0 + 50 * distance(points, index, fastest)});
  }
  const auto proposed = propose(search_by(Strategy::model), points, history, 6);
  EXPECT_GE(std::count_if(proposed.begin(), proposed.end(),
                          [&](std::size_t index) { return distance(points, index, fastest) == 2; }),
            3);
}

// In a large space it once looked at 500 random points and around the fastest: all of them are far
// from where times say that the fastest is.
TEST(Model, ClimbsToWhatIsExpectedToBeFastest) {
  Points points = all_points(17, 2);
  describe_by_values(points);
  const auto num_ones = [&](std::size_t index) {
    return std::accumulate(points[index].begin(), points[index].end(), 0);
  };
  int sum = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const SearchSpec search = search_by(Strategy::model, seed);
    std::vector<Observation> history;
    Random random(seed);
    for (std::size_t i = 0; i < 146; ++i) {
      const std::size_t index = below(random, points.size());
      history.push_back({index, Observation::Is::timed, 1000 * std::exp(-0.2 * num_ones(index))});
    }
    for (const std::size_t index : propose(search, points, history, 6)) {
      sum += num_ones(index);
    }
  }
  EXPECT_GE(sum / 30.0, 8.5);
}

// Where a forest looks into the unknown, the process is to do so only while there is time.
TEST(Model, LooksCloserInTheSecondHalfOfABudget) {
  Points points = tile_space();
  describe_by_values(points);
  // How many parameters a proposal has that differ from the nearest of what is known.
  const auto mean_distance = [&](std::int64_t budget_configs) {
    SearchSpec search = search_by(Strategy::model);
    search.budget_configs = budget_configs;
    int sum = 0;
    for (std::size_t start = 0; start < 20; ++start) {
      std::vector<Observation> history;
      for (std::size_t i = 0; i < 60; ++i) {
        history.push_back(result_of(points, (start + i * 17) % points.size()));
      }
      for (const std::size_t index : propose(search, points, history, 4)) {
        int least = 6;
        for (const Observation& seen : history) {
          least = std::min(least, distance(points, index, seen.index));
        }
        sum += least;
      }
    }
    return sum / 80.0;
  };
  EXPECT_LT(mean_distance(119), 0.9 * mean_distance(120));
}

TEST(Model, AvoidsWhatFails) {
  Points points = tile_space();
  const auto num_failed = [&](Strategy strategy) {
    std::ptrdiff_t failed = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const std::vector<Observation> history = run(points, search_by(strategy, seed), 100);
      // The first 20 are drawn.
      failed += std::count_if(history.begin() + 20, history.end(), [](const Observation& seen) {
        return seen.is == Observation::Is::failed;
      });
    }
    return failed;
  };
  const std::ptrdiff_t failed_random = num_failed(Strategy::random);
  EXPECT_LT(num_failed(Strategy::model), failed_random / 3);
  describe_by_values(points);
  EXPECT_LT(num_failed(Strategy::model), failed_random / 3);
}

// The bound of a point that was given up once stood for its time: the fastest known was one that is
// known to be slow.
TEST(Model, TakesABoundForNoTime) {
  const Points points = tile_space();
  std::vector<Observation> history = run(points, search_by(Strategy::model), 60);
  std::vector<Observation> only_bounds = history;
  for (Observation& seen : only_bounds) {
    if (seen.is == Observation::Is::timed) seen.is = Observation::Is::bound;
  }
  // Without a single time there is nothing to be faster than: it draws.
  EXPECT_EQ(propose(search_by(Strategy::model), points, only_bounds, 5),
            propose(search_by(Strategy::random), points, only_bounds, 5));
}

TEST(Learns, OnlyWhatLooksAtTimes) {
  SearchSpec search;
  EXPECT_FALSE(learns(search, 100));
  search.budget_configs = 100;
  EXPECT_FALSE(learns(search, 100));
  EXPECT_TRUE(learns(search, 101));
  search.strategy = Strategy::exhaustive;
  EXPECT_FALSE(learns(search, 101));
  search = {};
  search.budget_until_ratio = 0.02;
  EXPECT_TRUE(learns(search, 100));
}

TEST(Automatic, IsTheModelWhereItMayEndEarly) {
  const Points points = tile_space();
  const auto history = run(points, search_by(Strategy::model), 30);
  for (const auto& known : {std::vector<Observation>(), history}) {
    EXPECT_EQ(propose(search_by(Strategy::automatic), points, known, 5),
              propose(search_by(Strategy::model), points, known, 5));
  }
}

TEST(Automatic, GoesThroughAllThatTheBudgetAllows) {
  const Points points = tile_space();
  SearchSpec search;
  EXPECT_THAT(propose(search, points, {}, 3), ElementsAre(0, 1, 2));
  search.budget_configs = static_cast<std::int64_t>(points.size());
  EXPECT_THAT(propose(search, points, {}, 3), ElementsAre(0, 1, 2));
}

TEST(GaussianProcess, KnowsWhatItWasToldAndIsUnsureFarFromIt) {
  const std::vector<std::vector<int>> told = {{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 0}, {5, 1}};
  std::vector<GaussianProcess::Point> points(told.begin(), told.end());
  std::vector<double> values;
  for (const auto& point : told) values.push_back(point[0] + 10 * point[1]);
  GaussianProcess process({10, 2}, points, values);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(process.mean(points[i]), values[i], 0.5);
    EXPECT_NEAR(process.guess(points[i]).mean, process.mean(points[i]), 1e-9);
  }
  const std::vector<int> near = {1, 1}, far = {9, 0};
  EXPECT_NEAR(process.mean(near), 11, 2);
  const double unsure = process.guess(far).deviation;
  EXPECT_GT(unsure, process.guess(near).deviation);
  process.believe({far});
  EXPECT_LT(process.guess(far).deviation, 0.5 * unsure);
}

TEST(GainLeft, IsNoMoreThanItSaysAndBecomesLittleWhereTimesAreSmooth) {
  const Points points = tile_space();
  const auto trial = [&](std::size_t index) {
    const auto p = points[index];
    const double time_ns =
        1000.0 + 300 * std::abs(p[0] - 4) + 200 * std::abs(p[1] - 5) + 100 * p[2] + 50 * p[5];
    return Observation{index, Observation::Is::timed, time_ns};
  };
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const SearchSpec search = search_by(Strategy::model, seed);
    std::vector<Observation> history;
    for (const std::size_t evaluations : {40, 80, 160}) {
      history = run(points, search, evaluations, 20, trial, std::move(history));
      const double gain_ratio = gain_left(search, points, history).value();
      EXPECT_LE(best_of(history) / 1000 - 1, gain_ratio) << evaluations << ", seed " << seed;
      if (evaluations == 160) {
        EXPECT_LT(gain_ratio, 0.05) << "seed " << seed;
      }
    }
  }
}

TEST(GainLeft, IsNotKnownFromFewAndNothingWhenAllWereTried) {
  const Points points = tile_space();
  const SearchSpec search = search_by(Strategy::random);
  EXPECT_FALSE(gain_left(search, points, {}));
  EXPECT_FALSE(gain_left(search, points, run(points, search, 15)));
  EXPECT_GT(gain_left(search, points, run(points, search, 30)).value(), 0.1);
  EXPECT_LT(gain_left(search, points, run(points, search, points.size(), 500)).value(), 1e-6);
}

// A metric such as the bytes that are spilled is 0 of many, whose fraction of the least was none.
TEST(Model, LearnsOfCostsThatAre0) {
  const Points points = tile_space();
  const SearchSpec search = search_by(Strategy::model);
  const auto trial = [&](std::size_t index) {
    const auto p = points[index];
    return Observation{index, Observation::Is::timed, 11.0 - p[0] + std::abs(p[1] - 2) - p[2]};
  };
  const std::vector<Observation> history = run(points, search, 60, 1, trial);
  const auto zeros = std::count_if(history.begin() + 20, history.end(),
                                   [](const Observation& seen) { return seen.time_ns == 0; });
  EXPECT_GT(zeros, 8) << "of the 12 that there are";
  EXPECT_TRUE(std::isfinite(gain_left(search, points, history).value()));
}

}  // namespace
}  // namespace assay
