#include "search/forest.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "base/draw.h"

namespace assay {
namespace {

constexpr std::size_t kNumTrees = 50;
constexpr std::size_t kMinSplit = 4;  // rows; fewer make a leaf

}  // namespace

/// What the trees learn from. A feature's numbers are counted through, so that a threshold falls
/// anywhere among them and not among their distances.
struct Forest::Training {
  std::size_t num_features;
  std::span<const float> values;
  std::vector<std::vector<float>> numbers;  // of each feature, different ones in their order
  std::vector<std::uint16_t> places;        // of each row's features in `numbers`

  std::uint16_t place(std::uint32_t row, std::size_t feature) const {
    return places[row * num_features + feature];
  }

  struct Split {
    std::size_t feature = 0;
    std::uint16_t place = 0;  // the last below
    double gain = 0;
  };
  struct Growing {
    Random random;
    std::vector<std::uint32_t> rows;  // those of a node lie side by side
    Tree tree = {};
  };

  Tree grown(std::uint64_t seed) const;
  void grow(Growing& growing, std::size_t begin, std::size_t end) const;
  std::optional<Split> best_split(Growing& growing, std::size_t begin, std::size_t end) const;
};

Forest::Forest(std::size_t num_features, std::span<const float> features,
               std::span<const float> values, std::uint64_t seed)
    : trees_(kNumTrees) {
  Training training = {num_features, values, {}, {}};
  training.numbers.resize(num_features);
  training.places.resize(features.size());
  for (std::size_t feature = 0; feature < num_features; ++feature) {
    std::vector<float>& numbers = training.numbers[feature];
    for (std::size_t i = feature; i < features.size(); i += num_features) {
      numbers.push_back(features[i]);
    }
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (std::size_t i = feature; i < features.size(); i += num_features) {
      const auto at = std::ranges::lower_bound(numbers, features[i]);
      training.places[i] = static_cast<std::uint16_t>(at - numbers.begin());
    }
  }
  const std::size_t num_threads =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kNumTrees);
  std::vector<std::future<void>> parts;
  for (std::size_t first = 0; first < num_threads; ++first) {
    parts.push_back(std::async(std::launch::async, [&, first] {
      for (std::size_t i = first; i < kNumTrees; i += num_threads) {
        trees_[i] = training.grown(seed * kNumTrees + i);
      }
    }));
  }
  for (std::future<void>& part : parts) part.get();
}

Forest::Tree Forest::Training::grown(std::uint64_t seed) const {
  Growing growing = {Random(seed), std::vector<std::uint32_t>(values.size())};
  std::iota(growing.rows.begin(), growing.rows.end(), std::uint32_t{0});
  grow(growing, 0, values.size());
  return std::move(growing.tree);
}

void Forest::Training::grow(Growing& growing, std::size_t begin, std::size_t end) const {
  const std::size_t at = growing.tree.size();
  growing.tree.emplace_back();
  const std::optional<Split> split =
      end - begin < kMinSplit ? std::nullopt : best_split(growing, begin, end);
  if (!split) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += static_cast<double>(values[growing.rows[i]]);
    growing.tree[at].value = static_cast<float>(sum / static_cast<double>(end - begin));
    return;
  }
  const auto first = growing.rows.begin();
  const auto middle = std::partition(
      first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end),
      [&](std::uint32_t row) { return place(row, split->feature) <= split->place; });
  const auto above = static_cast<std::size_t>(middle - first);
  const std::vector<float>& sorted = numbers[split->feature];
  growing.tree[at].feature = static_cast<std::uint32_t>(split->feature);
  growing.tree[at].threshold = (sorted[split->place] + sorted[split->place + 1u]) / 2;
  grow(growing, begin, above);
  growing.tree[at].right = static_cast<std::uint32_t>(growing.tree.size());
  grow(growing, above, end);
}

/// The best of one random split of each feature: that which leaves the least sum of squares.
std::optional<Forest::Training::Split> Forest::Training::best_split(Growing& growing,
                                                                    std::size_t begin,
                                                                    std::size_t end) const {
  const std::vector<std::uint32_t>& rows = growing.rows;
  std::optional<Split> best;
  for (std::size_t feature = 0; feature < num_features; ++feature) {
    std::uint16_t low = UINT16_MAX, high = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint16_t at = place(rows[i], feature);
      low = std::min(low, at);
      high = std::max(high, at);
    }
    if (low >= high) continue;
    const auto last = static_cast<std::uint16_t>(low + below(growing.random, high - low));
    double below_sum = 0, above_sum = 0;
    std::size_t num_below = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const bool is_below = place(rows[i], feature) <= last;
      num_below += is_below ? 1 : 0;
      (is_below ? below_sum : above_sum) += static_cast<double>(values[rows[i]]);
    }
    const std::size_t num_above = end - begin - num_below;
    const double gain = below_sum * below_sum / static_cast<double>(num_below) +
                        above_sum * above_sum / static_cast<double>(num_above);
    if (!best || gain > best->gain) best = {feature, last, gain};
  }
  return best;
}

Forest::Guess Forest::guess(std::span<const float> features) const {
  double sum = 0, squares = 0;
  for (const Tree& tree : trees_) {
    std::size_t at = 0;
    while (tree[at].right != 0) {
      at = features[tree[at].feature] <= tree[at].threshold ? at + 1 : tree[at].right;
    }
    const double value = static_cast<double>(tree[at].value);
    sum += value;
    squares += value * value;
  }
  const auto num_trees = static_cast<double>(trees_.size());
  const double mean = sum / num_trees;
  return {mean, std::sqrt(std::max(squares / num_trees - mean * mean, 0.0))};
}

}  // namespace assay
