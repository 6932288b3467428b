#pragma once

#include <cstddef>
#include <vector>

#include "pack/pack.h"

// A few configurations for many problems, and what that costs.

namespace assay {

/// How long configurations take for each other's problems.
struct CrossTimes {
  std::vector<Problem> problems;
  std::vector<std::vector<double>> time_ns;  // by configuration and problem; infinite: not measured
  /// By problem: that of the library that a program may call instead; infinite: there is none.
  std::vector<double> library_ns = {};
  /// By problem: that of the library's first choice of an algorithm, which a program gets for
  /// problems that were not measured; infinite: not known.
  std::vector<double> first_ns = {};

  /// The least of any configuration and of the library.
  double fastest_ns(std::size_t problem) const;
  /// Whether the configuration was clearly faster than the library's first choice, and no slower
  /// than the best algorithm: another size may get the best one.
  bool is_faster(std::size_t config, std::size_t problem) const;
};

/// Configurations, as places in CrossTimes::time_ns, so that each problem has one that is at most
/// `slow_down` (0.03) slower than the fastest, or has the library: the fewest. Where these are more
/// than `most`, so many with which the slowest problem loses least. Of several choices one with
/// which all problems lose little.
std::vector<std::size_t> cover(const CrossTimes& times, double slow_down, std::size_t most);

/// Which of the configurations, of which there is at least one, is the fastest for each problem.
std::vector<std::size_t> fastest_of(const CrossTimes& times,
                                    const std::vector<std::size_t>& configs);

/// PackRow::regret of each problem, which has the chosen configuration.
std::vector<double> regrets(const CrossTimes& times, const std::vector<std::size_t>& chosen);

/// PackRow::fast_for of each problem, which has the chosen configuration.
std::vector<std::vector<std::size_t>> fast_for(const CrossTimes& times,
                                               const std::vector<std::size_t>& chosen);

/// What a program gets for a problem that took no part in the choice.
struct LeftOut {
  std::size_t problem = 0;  // its place in CrossTimes::problems
  double regret = 0;        // its time over the least of any
  double speedup = 0;       // the time of the library's first choice over its; 0: there is none
  bool library = false;     // that is called
};

/// Of each problem, with the cover of all others. A problem is left out of what is returned if what
/// would be taken was not measured for it.
std::vector<LeftOut> leave_each_out(const CrossTimes& times, double slow_down, std::size_t most);

}  // namespace assay
