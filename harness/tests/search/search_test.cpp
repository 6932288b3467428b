#include "search/search.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "matchers.h"

namespace assay {
namespace {

SearchSpec exhaustive() { return {Strategy::exhaustive, 1, {}, {}}; }

/// A space of one parameter.
Points line(std::size_t size) {
  Points points({static_cast<int>(size)});
  for (int i = 0; i < static_cast<int>(size); ++i) points.add(std::vector<int>{i});
  return points;
}

/// Proposals in a space of one parameter.
std::vector<std::size_t> propose(const SearchSpec& search, std::size_t size,
                                 const std::vector<Observation>& history, std::size_t count) {
  return assay::propose(search, line(size), history, count);
}

Observation timed(std::size_t index, double time_ns) {
  return {index, Observation::Is::timed, time_ns};
}

Observation failed(std::size_t index) { return {index, Observation::Is::failed, 0}; }

SearchSpec random_search(std::uint64_t seed) { return {Strategy::random, seed, {}, {}}; }

/// Proposes `batch` at a time until nothing is left.
std::vector<std::size_t> run_to_end(const SearchSpec& search, std::size_t num_candidates,
                                    std::size_t batch) {
  std::vector<Observation> history;
  std::vector<std::size_t> order;
  for (;;) {
    const auto proposed = propose(search, num_candidates, history, batch);
    if (proposed.empty()) return order;
    for (std::size_t index : proposed) {
      order.push_back(index);
      history.push_back(timed(index, 100));
    }
  }
}

std::vector<std::size_t> in_order(std::size_t size) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

TEST(Exhaustive, VisitsEveryCandidateInOrder) {
  for (std::size_t batch : {1u, 3u, 100u}) {
    EXPECT_EQ(run_to_end(exhaustive(), 17, batch), in_order(17)) << batch;
  }
}

TEST(Exhaustive, SkipsWhatWasTriedWhateverCameOfIt) {
  const std::vector<Observation> history = {timed(3, 50), failed(0), timed(1, 70)};
  EXPECT_THAT(propose(exhaustive(), 6, history, 10), ElementsAre(2, 4, 5));
}

TEST(Random, VisitsEveryCandidateOnceInAnOrderOfItsOwn) {
  for (std::size_t size : {1u, 2u, 17u, 1000u}) {
    auto order = run_to_end(random_search(1), size, 7);
    if (size == 1000) {
      EXPECT_NE(order, in_order(size));
    }
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, in_order(size));
  }
}

TEST(Random, OrderDependsOnTheSeedAndNotOnTheBatch) {
  const auto order = run_to_end(random_search(4), 100, 1);
  EXPECT_EQ(run_to_end(random_search(4), 100, 9), order);
  EXPECT_EQ(run_to_end(random_search(4), 100, 100), order);
  EXPECT_NE(run_to_end(random_search(5), 100, 1), order);
}

// A seed promises the same order on any machine and with any standard library.
TEST(Random, OrderOfASeedNeverChanges) {
  EXPECT_THAT(propose(random_search(1), 10, {}, 10), ElementsAre(1, 2, 5, 3, 6, 9, 7, 4, 0, 8));
}

SearchSpec with_configs(SearchSpec search, std::int64_t configs) {
  search.budget_configs = configs;
  return search;
}

// An exhaustive search with a budget tried the first of the space: of most parameters one value.
TEST(Budget, OfAnExhaustiveSearchIsSpentOnEveryRegionOfTheSpace) {
  constexpr std::size_t kValues = 4, kParams = 6, kPoints = 4096;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const SearchSpec configs{Strategy::exhaustive, seed, 60, {}};
    const SearchSpec seconds{Strategy::exhaustive, seed, {}, 60};
    for (const SearchSpec& search : {configs, seconds}) {
      const auto order = propose(search, kPoints, {}, 60);
      ASSERT_EQ(order.size(), 60u);
      std::set<std::pair<std::size_t, std::size_t>> tried;  // parameter, value
      for (std::size_t point : order) {
        for (std::size_t param = 0; param < kParams; ++param, point /= kValues) {
          tried.emplace(param, point % kValues);
        }
      }
      EXPECT_EQ(tried.size(), kParams * kValues) << "seed " << seed;
    }
  }
}

TEST(Budget, OfAnExhaustiveSearchHasTheOrderOfItsSeed) {
  SearchSpec search = with_configs(exhaustive(), 20);
  const auto order = run_to_end(search, 100, 7);
  EXPECT_EQ(run_to_end(search, 100, 1), order);
  search.seed = 2;
  EXPECT_NE(run_to_end(search, 100, 7), order);
  // A larger budget goes on where a smaller one ended.
  const auto longer = run_to_end(with_configs(exhaustive(), 30), 100, 7);
  ASSERT_EQ(longer.size(), 30u);
  EXPECT_TRUE(std::equal(order.begin(), order.end(), longer.begin()));
}

TEST(Budget, CountsWhatWasTriedBefore) {
  const SearchSpec search = with_configs(random_search(1), 5);
  EXPECT_EQ(run_to_end(search, 100, 2).size(), 5u);
  EXPECT_EQ(propose(search, 100, {timed(1, 1), failed(2), timed(3, 1)}, 10).size(), 2u);
  EXPECT_THAT(propose(search, 100, std::vector<Observation>(5), 10), IsEmpty());
  EXPECT_THAT(propose(search, 100, std::vector<Observation>(9), 10), IsEmpty());
}

TEST(Budget, OfNothingProposesNothing) {
  for (const std::int64_t budget : {0, -1}) {
    EXPECT_THAT(propose(with_configs(exhaustive(), budget), 100, {}, 10), IsEmpty());
  }
}

TEST(Budget, LargerThanTheSpaceEndsWithTheSpace) {
  for (const SearchSpec& search : {random_search(1), exhaustive()}) {
    auto order = run_to_end(with_configs(search, 1000), 10, 3);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, in_order(10));
  }
}

TEST(Propose, HasNothingToSayOfAnEmptySpaceOrAnEmptyRequest) {
  EXPECT_THAT(propose(random_search(1), 0, {}, 4), IsEmpty());
  EXPECT_THAT(propose(exhaustive(), 0, {}, 4), IsEmpty());
  EXPECT_THAT(propose(exhaustive(), 4, {}, 0), IsEmpty());
}

}  // namespace
}  // namespace assay
