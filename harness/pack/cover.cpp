#include "pack/cover.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "pack/choice.h"

namespace assay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// What a problem without any configuration counts for, as a ratio of times.
constexpr double kWorstRatio = 100;

/// The nearest of all other problems. There is at least one.
std::size_t nearest_other(const std::vector<Problem>& problems, std::size_t problem) {
  std::size_t nearest = problem == 0 ? 1 : 0;
  double least = kInfinite;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (i == problem) continue;
    const double factor = distance_factor(problems[problem], problems[i]);
    if (factor < least) std::tie(least, nearest) = std::pair(factor, i);
  }
  return nearest;
}

/// Takes a problem out.
CrossTimes without(CrossTimes times, std::size_t problem) {
  const auto erase = [&](auto& all) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(problem));
  };
  erase(times.problems);
  erase(times.baseline_ns);
  for (std::vector<double>& of_config : times.time_ns) erase(of_config);
  return times;
}

}  // namespace

double CrossTimes::fastest_ns(std::size_t problem) const {
  double least = kInfinite;
  for (const std::vector<double>& of_config : time_ns) least = std::min(least, of_config[problem]);
  return least;
}

std::vector<std::size_t> cover(const CrossTimes& times, double slow_down, std::size_t most) {
  const std::size_t num_problems = times.problems.size();
  std::vector<double> fastest_ns(num_problems), ratios(num_problems, kWorstRatio);
  for (std::size_t i = 0; i < num_problems; ++i) fastest_ns[i] = times.fastest_ns(i);
  std::vector<std::size_t> chosen;
  std::size_t num_open = num_problems;
  while (num_open > 0 && chosen.size() < most) {
    // How many problems have none yet, then how much all lose.
    std::pair<std::size_t, double> best{num_open + 1, 0};
    std::size_t next = 0;
    for (std::size_t config = 0; config < times.time_ns.size(); ++config) {
      std::pair<std::size_t, double> result{0, 0};
      for (std::size_t i = 0; i < num_problems; ++i) {
        const double ratio = std::min(ratios[i], times.time_ns[config][i] / fastest_ns[i]);
        if (ratio > 1 + slow_down) ++result.first;
        result.second += std::log(ratio);
      }
      if (result < best) std::tie(best, next) = std::pair(result, config);
    }
    if (best.first == num_open + 1 || std::count(chosen.begin(), chosen.end(), next) > 0) break;
    chosen.push_back(next);
    for (std::size_t i = 0; i < num_problems; ++i) {
      ratios[i] = std::min(ratios[i], times.time_ns[next][i] / fastest_ns[i]);
    }
    num_open = best.first;
  }
  return chosen;
}

std::vector<std::size_t> fastest_of(const CrossTimes& times,
                                    const std::vector<std::size_t>& configs) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < times.problems.size(); ++i) {
    chosen.push_back(*std::min_element(configs.begin(), configs.end(), [&](auto a, auto b) {
      return times.time_ns[a][i] < times.time_ns[b][i];
    }));
  }
  return chosen;
}

std::vector<Nearness> nearness(const CrossTimes& times, const std::vector<std::size_t>& chosen) {
  std::vector<Nearness> all(chosen.size());
  if (chosen.size() < 2) return all;
  // `at` is the problem for which that of `row` is taken.
  const auto add = [&](std::size_t row, std::size_t at) {
    const double time_ns = times.time_ns[chosen[row]][at];
    if (!std::isfinite(time_ns)) return;
    double least_ns = times.fastest_ns(at);
    const double baseline_ns = times.baseline_ns[at];
    if (baseline_ns > 0) least_ns = std::min(least_ns, baseline_ns);
    Nearness& near = all[row];
    const double speedup = baseline_ns / time_ns;
    near.speedup = near.factor == 0 ? speedup : std::min(near.speedup, speedup);
    near.regret = std::max(near.regret, time_ns / least_ns);
    near.factor = std::max(near.factor, distance_factor(times.problems[row], times.problems[at]));
  };
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::size_t nearest = nearest_other(times.problems, i);
    add(i, nearest);
    add(nearest, i);
  }
  return all;
}

std::vector<LeftOut> leave_each_out(const CrossTimes& times, double slow_down, std::size_t most) {
  std::vector<LeftOut> all;
  for (std::size_t i = 0; i < times.problems.size() && times.problems.size() > 1; ++i) {
    const CrossTimes others = without(times, i);
    const std::vector<std::size_t> configs = cover(others, slow_down, most);
    if (configs.empty()) continue;
    const std::vector<std::size_t> chosen = fastest_of(others, configs);
    const std::vector<Nearness> near = nearness(others, chosen);
    const std::size_t nearest = nearest_other(times.problems, i);
    const std::size_t row = nearest - (nearest > i ? 1 : 0);
    const double factor = distance_factor(times.problems[i], times.problems[nearest]);
    const double baseline_ns = times.baseline_ns[i];
    const bool is_slower = others.baseline_ns[row] < others.time_ns[chosen[row]][row];
    LeftOut left;
    left.fallback = baseline_ns > 0 && (is_slower || !is_safe(near[row], factor));
    const double time_ns = left.fallback ? baseline_ns : times.time_ns[chosen[row]][i];
    if (!std::isfinite(time_ns)) continue;
    left.regret = time_ns / times.fastest_ns(i);
    left.speedup = baseline_ns / time_ns;
    all.push_back(left);
  }
  return all;
}

}  // namespace assay
