#include "pack/cover.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "pack/choice.h"

namespace assay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// What a problem without any configuration counts for, as a ratio of times.
constexpr double kWorstRatio = 100;

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

  std::vector<double> of_library;
  std::vector<std::vector<double>> of_config;
};

}  // namespace

double CrossTimes::fastest_ns(std::size_t problem) const {
  double least = library_ns[problem];
  for (const std::vector<double>& of_config : time_ns) least = std::min(least, of_config[problem]);
  return least;
}

std::vector<std::size_t> cover(const CrossTimes& times, double slow_down, std::size_t most) {
  const LogRatios logs(times);
  const double enough = std::log(1 + slow_down);
  // How many problems have no configuration that is fast enough, then how much all lose.
  using Loss = std::pair<std::size_t, double>;
  const auto loss_with = [&](const std::vector<double>& best, const std::vector<double>& added) {
    Loss loss{0, 0};
    for (std::size_t i = 0; i < best.size(); ++i) {
      const double log_ratio = std::min(best[i], added[i]);
      if (log_ratio > enough) ++loss.first;
      loss.second += log_ratio;
    }
    return loss;
  };
  const std::size_t num_configs = logs.of_config.size();
  const auto serves = [&](std::size_t config, std::size_t problem) {
    return logs.of_config[config][problem] <= enough;
  };
  // The configuration that is best added: any, or one that serves the problem.
  const auto next_to = [&](const std::vector<double>& best, std::optional<std::size_t> problem) {
    std::pair<Loss, std::size_t> next{{best.size() + 1, 0}, 0};
    for (std::size_t config = 0; config < num_configs; ++config) {
      if (problem && !serves(config, *problem)) continue;
      next = std::min(next, std::pair(loss_with(best, logs.of_config[config]), config));
    }
    return next;
  };
  // One that serves the problem which the fewest serve is needed anyway: so it comes first.
  const auto hardest = [&](const std::vector<double>& best) {
    std::pair<std::size_t, std::size_t> least{num_configs + 1, 0};
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (best[i] <= enough) continue;
      std::size_t num_serving = 0;
      for (std::size_t config = 0; config < num_configs; ++config) {
        if (serves(config, i)) ++num_serving;
      }
      if (num_serving > 0) least = std::min(least, std::pair(num_serving, i));
    }
    return least.first > num_configs ? std::nullopt : std::optional(least.second);
  };
  std::vector<std::size_t> chosen;
  Loss loss = loss_with(logs.of_library, logs.of_library);
  while (chosen.size() < most) {
    const std::vector<double> best = logs.best_of(chosen);
    const std::optional<std::size_t> problem = hardest(best);
    if (!problem) break;
    const auto [lower, next] = next_to(best, problem);
    chosen.push_back(next);
    loss = lower;
  }
  // Later ones may serve most of what the first ones were chosen for.
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      std::vector<std::size_t> others = chosen;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const auto [lower, next] = next_to(logs.best_of(others), std::nullopt);
      if (!(lower < loss)) continue;
      chosen[i] = next;
      loss = lower;
      is_better = true;
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

std::vector<LeftOut> leave_each_out(const CrossTimes& times, double slow_down, std::size_t most) {
  std::vector<LeftOut> all;
  for (std::size_t i = 0; i < times.problems.size(); ++i) {
    const std::vector<std::size_t> configs = cover(without(times, i), slow_down, most);
    const std::optional<std::size_t> nearest = nearest_other(times.problems, i);
    if (configs.empty() || !nearest) continue;
    const std::vector<std::size_t> chosen = fastest_of(times, configs);
    Around around;
    for (std::size_t other = 0; other < times.problems.size(); ++other) {
      if (other == i) continue;
      around.add(distance_of(times.problems[other], times.problems[i]), other);
    }
    const auto below = around.below(), above = around.above();
    const auto known = [&](std::size_t place) {
      return KnownTimes{times.time_ns[chosen[place]][place],
                        std::min(times.library_ns[place], times.first_ns[place])};
    };
    const bool is_safe = below && above && is_safely_faster(known(*below), known(*above));
    const double first_ns = times.first_ns[i];
    LeftOut left;
    left.problem = i;
    left.library = std::isfinite(first_ns) && !is_safe;
    const std::size_t row = is_safe ? *above : *nearest;
    const double time_ns = left.library ? first_ns : times.time_ns[chosen[row]][i];
    if (!std::isfinite(time_ns)) continue;
    left.regret = time_ns / times.fastest_ns(i);
    if (std::isfinite(first_ns)) left.speedup = first_ns / time_ns;
    all.push_back(left);
  }
  return all;
}

}  // namespace assay
