#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "ranking/ranking.h"

namespace assay {

inline constexpr std::size_t kRounds = 30;

/// Entries timed in turn: what drifts within a round drifts for all of them.
class Race {
 public:
  explicit Race(std::uint64_t seed) : random_(seed) {
    for (std::size_t round = 0; round < kRounds; ++round) {
      drift_.push_back(1 + 0.02 * static_cast<double>(round) / kRounds);
    }
  }

  RankEntry entry(const std::string& kernel, const std::string& config, double time_ns,
                  double noise_ratio = 0.005) {
    RankEntry entry{kernel, config, {}};
    std::normal_distribution<> noise(1, noise_ratio);
    for (double drift : drift_) entry.samples_ns.push_back(time_ns * drift * noise(random_));
    return entry;
  }

 private:
  std::mt19937_64 random_;
  std::vector<double> drift_;
};

inline const RankEntry& find(const std::vector<RankEntry>& ranking, const std::string& config) {
  const auto found = std::find_if(ranking.begin(), ranking.end(),
                                  [&](const RankEntry& entry) { return entry.config == config; });
  if (found == ranking.end()) throw std::out_of_range(config);
  return *found;
}

/// The configurations that are called so: one, as a rule.
inline std::string winner(const std::vector<RankEntry>& ranking) {
  std::string name;
  for (const RankEntry& entry : ranking) {
    if (entry.winner) name += entry.config;
  }
  return name;
}

inline bool same(const Interval& a, const Interval& b) {
  return a.value == b.value && a.low == b.low && a.high == b.high;
}

}  // namespace assay
