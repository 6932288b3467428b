#include "search/forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

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
  std::vector<std::uint32_t> rows;          // those of a node lie side by side
  Random random;

  std::uint16_t place(std::uint32_t row, std::size_t feature) const {
    return places[row * num_features + feature];
  }

  struct Split {
    std::size_t feature = 0;
    std::uint16_t place = 0;  // the last below
    double gain = 0;
  };

  /// The best of one random split of each feature: that which leaves the least sum of squares.
  std::optional<Split> best_split(std::size_t begin, std::size_t end) {
    std::optional<Split> best;
    for (std::size_t feature = 0; feature < num_features; ++feature) {
      std::uint16_t low = UINT16_MAX, high = 0;
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint16_t at = place(rows[i], feature);
        low = std::min(low, at);
        high = std::max(high, at);
      }
      if (low >= high) continue;
      const auto last = static_cast<std::uint16_t>(low + below(random, high - low));
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
};

Forest::Forest(std::size_t num_features, std::span<const float> features,
               std::span<const float> values, std::uint64_t seed) {
  Training training = {num_features, values, {}, {}, {}, Random(seed)};
  training.numbers.resize(num_features);
  training.places.resize(features.size());
  for (std::size_t feature = 0; feature < num_features; ++feature) {
    std::vector<float>& numbers = training.numbers[feature];
    for (std::size_t i = feature; i < features.size(); i += num_features) {
      numbers.push_back(features[i]);
    }
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    for (std::size_t i = feature; i < features.size(); i += num_features) {
      const auto at = std::lower_bound(numbers.begin(), numbers.end(), features[i]);
      training.places[i] = static_cast<std::uint16_t>(at - numbers.begin());
    }
  }
  training.rows.resize(values.size());
  std::iota(training.rows.begin(), training.rows.end(), std::uint32_t{0});
  for (std::size_t tree = 0; tree < kNumTrees; ++tree) {
    roots_.push_back(nodes_.size());
    grow(training, 0, values.size());
  }
}

void Forest::grow(Training& training, std::size_t begin, std::size_t end) {
  const std::size_t at = nodes_.size();
  nodes_.emplace_back();
  const std::optional<Training::Split> split =
      end - begin < kMinSplit ? std::nullopt : training.best_split(begin, end);
  if (!split) {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += static_cast<double>(training.values[training.rows[i]]);
    }
    nodes_[at].value = static_cast<float>(sum / static_cast<double>(end - begin));
    return;
  }
  const auto first = training.rows.begin();
  const auto middle = std::partition(
      first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end),
      [&](std::uint32_t row) { return training.place(row, split->feature) <= split->place; });
  const auto above = static_cast<std::size_t>(middle - first);
  const std::vector<float>& numbers = training.numbers[split->feature];
  nodes_[at].feature = static_cast<std::uint32_t>(split->feature);
  nodes_[at].threshold = (numbers[split->place] + numbers[split->place + 1u]) / 2;
  grow(training, begin, above);
  nodes_[at].right = static_cast<std::uint32_t>(nodes_.size());
  grow(training, above, end);
}

Forest::Guess Forest::guess(std::span<const float> features) const {
  double sum = 0, squares = 0;
  for (std::size_t at : roots_) {
    while (nodes_[at].right != 0) {
      const Node& node = nodes_[at];
      at = features[node.feature] <= node.threshold ? at + 1 : node.right;
    }
    const double value = static_cast<double>(nodes_[at].value);
    sum += value;
    squares += value * value;
  }
  const auto num_trees = static_cast<double>(roots_.size());
  const double mean = sum / num_trees;
  return {mean, std::sqrt(std::max(squares / num_trees - mean * mean, 0.0))};
}

}  // namespace assay
