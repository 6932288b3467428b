#include "search/search.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace assay {
namespace {

/// A number below `bound`: the high word of a 64 x 64-bit product, whose bias is at most
/// bound / 2^64. The standard's distributions give other numbers in other libraries.
std::size_t below(std::mt19937_64& random, std::size_t bound) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((static_cast<Wide>(random()) * bound) >> 64);
}

/// A permutation of 0..size-1 (Fisher and Yates, from the front). It is drawn one element at a
/// time, so that a proposal early in a sweep draws only as many as it looks at.
class Permutation {
 public:
  Permutation(std::uint64_t seed, std::size_t size) : random_(seed), order_(size) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
  }
  std::size_t next() {
    std::swap(order_[drawn_], order_[drawn_ + below(random_, order_.size() - drawn_)]);
    return order_[drawn_++];
  }

 private:
  std::mt19937_64 random_;
  std::vector<std::size_t> order_;
  std::size_t drawn_ = 0;
};

/// The first `count` of the points that `next` yields and that are not `seen`, out of `size`.
template <typename Next>
std::vector<std::size_t> first_unseen(std::size_t size, std::size_t count,
                                      const std::vector<bool>& seen, Next next) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < size && chosen.size() < count; ++i) {
    const std::size_t candidate = next(i);
    if (!seen[candidate]) chosen.push_back(candidate);
  }
  return chosen;
}

}  // namespace

std::vector<std::size_t> propose(const SearchSpec& search, std::size_t num_candidates,
                                 const std::vector<Observation>& history, std::size_t count) {
  if (search.budget_configs) {
    const auto budget = static_cast<std::size_t>(std::max<std::int64_t>(*search.budget_configs, 0));
    count = std::min(count, budget - std::min(budget, history.size()));
  }
  if (count == 0) return {};

  std::vector<bool> seen(num_candidates);
  for (const Observation& tried : history) {
    if (tried.index < num_candidates) seen[tried.index] = true;
  }
  // The first of the space in its own order are one corner of it, so what may end early is drawn.
  const bool may_end_early = search.budget_configs || search.budget_seconds;
  if (search.strategy == Strategy::exhaustive && !may_end_early) {
    return first_unseen(num_candidates, count, seen, [](std::size_t i) { return i; });
  }
  Permutation permutation(search.seed, num_candidates);
  return first_unseen(num_candidates, count, seen, [&](std::size_t) { return permutation.next(); });
}

}  // namespace assay
