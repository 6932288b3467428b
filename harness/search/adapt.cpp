#include "search/adapt.h"

#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

namespace assay {
namespace {

// A change has to make it more alike by this.
constexpr double kWorthAChange = 0.1;
// Pairs of changes that are looked up: parameters of a thousand values have millions.
constexpr int kMaxPairs = 100'000;

class Adaptation {
 public:
  Adaptation(const Points& points, std::span<const int> winner,
             const std::function<double(std::size_t)>& unlike)
      : points_(points), winner_(winner), unlike_(unlike), point_(winner.begin(), winner.end()) {}

  std::optional<std::size_t> best() {
    best_ = points_.find(point_);
    if (best_) least_.first = unlike_(*best_) - kWorthAChange;
    for (std::size_t param = 0; param < point_.size(); ++param) {
      change(param, [&](int steps) { consider(steps); });
    }
    if (!best_) look_at_pairs();
    return best_;
  }

 private:
  /// Gives the parameter each of its other values in turn, and at last its own again.
  template <typename Visit>
  void change(std::size_t param, const Visit& visit) {
    for (int value = 0; value < points_.num_values()[param]; ++value) {
      point_[param] = value;
      if (value != winner_[param]) visit(std::abs(value - winner_[param]));
    }
    point_[param] = winner_[param];
  }

  void consider(int steps) {
    const std::optional<std::size_t> at = points_.find(point_);
    if (!at) return;
    const std::pair<double, int> found{unlike_(*at), steps};
    if (found >= least_) return;
    least_ = found;
    best_ = at;
  }

  void look_at_pairs() {
    int num_looked_up = 0;
    for (std::size_t one = 0; one < point_.size(); ++one) {
      for (std::size_t other = one + 1; other < point_.size(); ++other) {
        change(one, [&](int steps) {
          if (num_looked_up > kMaxPairs) return;
          num_looked_up += points_.num_values()[other];
          change(other, [&](int more) { consider(steps + more); });
        });
      }
    }
  }

  const Points& points_;
  const std::span<const int> winner_;
  const std::function<double(std::size_t)>& unlike_;
  std::vector<int> point_;
  std::optional<std::size_t> best_;
  std::pair<double, int> least_{std::numeric_limits<double>::infinity(), 0};  // unlike, steps
};

}  // namespace

std::optional<std::size_t> adapted(const Points& points, std::span<const int> winner,
                                   const std::function<double(std::size_t index)>& unlike) {
  return Adaptation(points, winner, unlike).best();
}

}  // namespace assay
