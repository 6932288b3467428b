#include "pack/cover.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "pack/choice.h"

namespace assay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// What a problem without any configuration counts for, as a ratio of times.
constexpr double kWorstRatio = 100;

/// Where a kernel takes so many times as long for one of two problems, it is not known for those
/// between: of 133 with a K between 4096 and 14336, for which it takes twice as long, 10 were
/// slower than by cuBLASLt by 2 % or more.
constexpr double kSimilarRatio = 1.25;

/// The nearest other problem; nothing if there is no other.
std::optional<std::size_t> nearest_other(const std::vector<Problem>& problems,
                                         std::size_t problem) {
  std::optional<std::size_t> nearest;
  double least = kInfinite;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i == problem) continue;
    const double factor = distance_of(problems[i], problems[problem]).factor;
    if (!nearest || factor < least) std::tie(nearest, least) = std::pair(i, factor);
  }
  return nearest;
}

/// Takes a problem out.
CrossTimes without(CrossTimes times, std::size_t problem) {
  const auto erase = [&](auto& all) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(problem));
  };
  erase(times.problems);
  erase(times.library_ns);
  erase(times.first_ns);
  for (std::vector<double>& of_config : times.time_ns) erase(of_config);
  return times;
}

/// The logarithms of the ratios of times to the least of each problem.
struct LogRatios {
  explicit LogRatios(const CrossTimes& times) {
    std::vector<double> fastest_ns;
    for (std::size_t i = 0; i < times.problems.size(); ++i) {
      fastest_ns.push_back(times.fastest_ns(i));
    }
    const auto logs = [&](const std::vector<double>& time_ns) {
      std::vector<double> all;
      for (std::size_t i = 0; i < fastest_ns.size(); ++i) {
        all.push_back(std::log(std::min(kWorstRatio, time_ns[i] / fastest_ns[i])));
      }
      return all;
    };
    of_library = logs(times.library_ns);
    for (const std::vector<double>& time_ns : times.time_ns) of_config.push_back(logs(time_ns));
  }

  /// The least of each problem by the configurations or by the library.
  std::vector<double> best_of(const std::vector<std::size_t>& configs) const {
    std::vector<double> best = of_library;
    for (const std::size_t config : configs) {
      std::ranges::transform(best, of_config[config], best.begin(),
                             [](double a, double b) { return std::min(a, b); });
    }
    return best;
  }

  /// Those above `loss`, in order.
  std::vector<double> above(double loss) const {
    std::set<double> all(of_library.begin(), of_library.end());
    for (const std::vector<double>& logs : of_config) all.insert(logs.begin(), logs.end());
    return {all.upper_bound(loss), all.end()};
  }

  std::vector<double> of_library;
  std::vector<std::vector<double>> of_config;
};

/// Looks for the fewest configurations with which no problem loses more than `enough`, by branch
/// and bound. Where a configuration serves a problem, the problem loses no more.
class FewestSearch {
 public:
  FewestSearch(const LogRatios& logs, double enough) : served_(logs.of_config.size()) {
    for (std::size_t i = 0; i < logs.of_library.size(); ++i) {
      if (logs.of_library[i] <= enough) continue;
      std::vector<std::size_t> serving;
      for (std::size_t config = 0; config < logs.of_config.size(); ++config) {
        if (logs.of_config[config][i] <= enough) serving.push_back(config);
      }
      if (!serving.empty()) serving_.push_back(std::move(serving));  // else nothing is known
    }
    std::ranges::stable_sort(serving_, {}, &std::vector<std::size_t>::size);
    for (std::size_t i = 0; i < serving_.size(); ++i) {
      for (const std::size_t config : serving_[i]) served_[config].push_back(i);
    }
  }

  /// Nothing: there are none of at most `most`, or kMostSteps found none.
  std::optional<std::vector<std::size_t>> run(std::size_t most) {
    room_ = most + 1;
    extend(std::vector<char>(serving_.size(), true));
    return std::move(found_);
  }

 private:
  static constexpr int kMostSteps = 20'000;

  void extend(const std::vector<char>& open) {
    if (++steps_ > kMostSteps) return;
    // Problems that no configuration serves together need one each.
    std::vector<char> counted(served_.size(), false);
    std::size_t least = chosen_.size();
    std::optional<std::size_t> hardest;  // that the fewest serve
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (!open[i]) continue;
      if (!hardest) hardest = i;
      if (std::ranges::any_of(serving_[i], [&](std::size_t config) { return counted[config]; })) {
        continue;
      }
      ++least;
      for (const std::size_t config : serving_[i]) counted[config] = true;
    }
    if (least >= room_) return;
    if (!hardest) {
      room_ = chosen_.size();
      found_ = chosen_;
      return;
    }
    std::vector<std::size_t> next = serving_[*hardest];
    std::ranges::stable_sort(next, std::ranges::greater(), [&](std::size_t config) {
      return std::ranges::count_if(served_[config], [&](std::size_t i) { return open[i]; });
    });
    for (const std::size_t config : next) {
      std::vector<char> rest = open;
      for (const std::size_t i : served_[config]) rest[i] = false;
      chosen_.push_back(config);
      extend(rest);
      chosen_.pop_back();
    }
  }

  std::vector<std::vector<std::size_t>> serving_;  // by problem that needs one, the hardest first
  std::vector<std::vector<std::size_t>> served_;   // by configuration
  std::vector<std::size_t> chosen_;
  std::optional<std::vector<std::size_t>> found_;
  std::size_t room_ = 0;  // a choice must have fewer
  int steps_ = 0;
};

}  // namespace

double CrossTimes::fastest_ns(std::size_t problem) const {
  double least = library_ns[problem];
  for (const std::vector<double>& of_config : time_ns) least = std::min(least, of_config[problem]);
  return least;
}

bool CrossTimes::is_faster(std::size_t config, std::size_t problem) const {
  const double own_ns = time_ns[config][problem];
  const double called_ns =
      std::isfinite(first_ns[problem]) ? first_ns[problem] : library_ns[problem];
  return std::isfinite(called_ns) && kFasterRatio * own_ns <= called_ns &&
         own_ns <= library_ns[problem];
}

std::vector<std::size_t> cover(const CrossTimes& times, double slow_down, std::size_t most) {
  const LogRatios logs(times);
  double enough = std::log(1 + slow_down);
  std::vector<std::size_t> chosen;
  const auto is_found = [&](double loss) {
    std::optional<std::vector<std::size_t>> found = FewestSearch(logs, loss).run(most);
    if (!found) return false;
    chosen = *std::move(found);
    enough = loss;
    return true;
  };
  if (!is_found(enough)) {
    // The losses below the one that is found are too small.
    const std::vector<double> losses = logs.above(enough);
    std::ranges::partition_point(losses, [&](double loss) { return !is_found(loss); });
  }
  // As many others may lose less in all.
  const auto loss_of_chosen = [&] {
    std::pair<int, double> loss{0, 0};  // how many problems are not served, then what all lose
    for (const double log_ratio : logs.best_of(chosen)) {
      if (log_ratio > enough) ++loss.first;
      loss.second += log_ratio;
    }
    return loss;
  };
  auto least = loss_of_chosen();
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (std::size_t& each : chosen) {
      const std::size_t before = each;
      std::size_t best = before;
      for (std::size_t config = 0; config < logs.of_config.size(); ++config) {
        each = config;
        const auto loss = loss_of_chosen();
        if (!(loss < least)) continue;
        std::tie(best, least) = std::pair(config, loss);
      }
      each = best;
      is_better = is_better || best != before;
    }
  }
  return chosen;
}

std::vector<std::size_t> fastest_of(const CrossTimes& times,
                                    const std::vector<std::size_t>& configs) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < times.problems.size(); ++i) {
    chosen.push_back(*std::ranges::min_element(
        configs, [&](auto a, auto b) { return times.time_ns[a][i] < times.time_ns[b][i]; }));
  }
  return chosen;
}

std::vector<double> regrets(const CrossTimes& times, const std::vector<std::size_t>& chosen) {
  std::vector<double> all(chosen.size());
  // `at` is the problem for which that of `row` is taken.
  const auto add = [&](std::size_t row, std::size_t at) {
    const double regret = times.time_ns[chosen[row]][at] / times.fastest_ns(at);
    if (std::isfinite(regret)) all[row] = std::max(all[row], regret);
  };
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::optional<std::size_t> nearest = nearest_other(times.problems, i);
    if (!nearest) continue;
    add(i, *nearest);
    add(*nearest, i);
  }
  return all;
}

std::vector<std::vector<std::size_t>> fast_for(const CrossTimes& times,
                                               const std::vector<std::size_t>& chosen) {
  const std::vector<Problem>& problems = times.problems;
  std::vector<std::vector<std::size_t>> all(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!times.is_faster(chosen[i], i)) continue;
    for (std::size_t other = 0; other < chosen.size(); ++other) {
      if (!times.is_faster(chosen[i], other)) continue;
      const std::vector<double>& time_ns = times.time_ns[chosen[i]];
      const auto [less_ns, more_ns] = std::minmax(time_ns[i], time_ns[other]);
      if (more_ns > kSimilarRatio * less_ns) continue;
      const Distance distance = distance_of(problems[other], problems[i]);
      if (!distance.is_below || distance.num_other != 1 || distance.factor > kNearFactor) continue;
      const bool is_next = std::ranges::none_of(problems, [&](const Problem& between) {
        const Distance to_other = distance_of(between, problems[other]);
        const Distance to_own = distance_of(between, problems[i]);
        return to_other.is_above && to_own.is_below && to_other.num_other * to_own.num_other > 0;
      });
      if (is_next) all[i].push_back(other);
    }
  }
  return all;
}

std::vector<LeftOut> leave_each_out(const CrossTimes& times, double slow_down, std::size_t most) {
  std::vector<LeftOut> all;
  for (std::size_t i = 0; i < times.problems.size(); ++i) {
    const CrossTimes others = without(times, i);
    const std::vector<std::size_t> configs = cover(others, slow_down, most);
    if (configs.empty() || others.problems.empty()) continue;
    const std::vector<std::size_t> chosen = fastest_of(others, configs);
    const std::vector<std::vector<std::size_t>> relations = fast_for(others, chosen);
    const auto to = [&](std::size_t other) {
      return distance_of(others.problems[other], times.problems[i]);
    };
    std::optional<std::size_t> nearest, above;
    for (std::size_t other = 0; other < others.problems.size(); ++other) {
      if (!nearest || to(other).factor < to(*nearest).factor) nearest = other;
      const bool is_between =
          to(other).is_above && to(other).num_other == 1 &&
          std::ranges::any_of(relations[other], [&](auto each) { return to(each).is_below; });
      if (is_between && (!above || to(other).factor < to(*above).factor)) above = other;
    }
    const double first_ns = times.first_ns[i];
    LeftOut left;
    left.problem = i;
    left.library = std::isfinite(first_ns) && !above;
    const double time_ns =
        left.library ? first_ns : times.time_ns[chosen[above.value_or(*nearest)]][i];
    if (!std::isfinite(time_ns)) continue;
    left.regret = time_ns / times.fastest_ns(i);
    if (std::isfinite(first_ns)) left.speedup = first_ns / time_ns;
    all.push_back(left);
  }
  return all;
}

}  // namespace assay
