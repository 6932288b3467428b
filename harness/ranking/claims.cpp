#include "ranking/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/stats.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/value.h"
#include "ranking/ranking.h"

namespace assay {
namespace {

// A recording keeps a tenth of a nanosecond of each sample, a whole megahertz of each clock, and
// six digits of each ratio.
constexpr double kLastTenthNs = 0.1001;
constexpr double kLastDigit = 1e-5;

/// A time of which the samples have tenths, and a ratio of such times: no digits beyond.
double kept_ns(double ns) { return std::round(ns * 10) / 10; }

Interval kept(const Interval& ratio) {
  const auto six_digits = [](double value) {
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
  };
  return {six_digits(ratio.value), six_digits(ratio.low), six_digits(ratio.high)};
}

std::string name_of(const std::string& kernel, const std::string& config) {
  return kernel.empty() ? config : kernel + ' ' + config;
}

double least_of(const std::vector<double>& values) {
  double least = std::numeric_limits<double>::infinity();
  for (const double value : values) {
    if (value > 0) least = std::min(least, value);
  }
  return least;
}

/// How far apart two ratios of the verdict's samples may lie, as a ratio.
struct Tolerance {
  double times = kLastDigit;
  double cycles = kLastDigit;

  explicit Tolerance(const RankRecord& rank) {
    double least_ns = std::numeric_limits<double>::infinity();
    double least_mhz = least_ns;
    for (const RankEntry& entry : rank.entries) {
      least_ns = std::min(least_ns, least_of(entry.samples_ns));
      least_mhz = std::min(least_mhz, least_of(entry.clocks_mhz));
    }
    times += kLastTenthNs / least_ns;
    cycles = times + 1 / least_mhz;
  }
};

bool agree(double claimed, double computed, double tolerance) {
  if (claimed == computed) return true;
  return std::abs(claimed - computed) <=
         tolerance * std::max(std::abs(claimed), std::abs(computed));
}

bool agree(const Interval& claimed, const Interval& computed, double tolerance) {
  return agree(claimed.value, computed.value, tolerance) &&
         agree(claimed.low, computed.low, tolerance) &&
         agree(claimed.high, computed.high, tolerance);
}

std::string text(const Interval& ratio) {
  return fmt::format("{:.6g} [{:.6g}, {:.6g}]", ratio.value, ratio.low, ratio.high);
}

std::string disagreement(const char* key, const std::string& name, const std::string& claimed,
                         const std::string& computed) {
  return fmt::format("'{}' of {} is {}, but by the samples it is {}", key, name, claimed, computed);
}

const RankEntry& find(const std::vector<RankEntry>& entries, const RankEntry& wanted) {
  return *find_entry(entries, wanted.kernel, wanted.config);
}

/// The entry whose duplicate gives the noise; null where none was timed in the same rounds.
const RankEntry* first_of_noise(const RankRecord& rank) {
  const NoiseFloor& noise = *rank.noise;
  const RankEntry* const first = find_entry(rank.entries, noise.kernel, noise.config);
  const bool is_first =
      first && !noise.samples_ns.empty() && first->samples_ns.size() == noise.samples_ns.size();
  return is_first ? first : nullptr;
}

class Claims {
 public:
  explicit Claims(const RankRecord& rank) : rank_(rank), tolerance_(rank) {}

  /// All but what rank_entries computes.
  std::string check_premises() {
    for (const auto part : {&Claims::check_names, &Claims::check_rounds, &Claims::check_energy,
                            &Claims::check_noise, &Claims::check_figures}) {
      if (std::string wrong = (this->*part)(); !wrong.empty()) return wrong;
    }
    return "";
  }

  std::string check_entries() {
    const std::vector<RankEntry> all = computed();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const RankEntry& claimed = rank_.entries[i];
      const RankEntry& entry = find(all, claimed);
      if (std::string wrong = check_entry(claimed, entry); !wrong.empty()) return wrong;
      const RankEntry& here = find(rank_.entries, all[i]);
      if (!claimed.failure.empty() && !here.failure.empty()) continue;  // in the order of races
      if (&here != &claimed && !agree(cost_of(claimed, rank_.objective),
                                      cost_of(here, rank_.objective), tolerance_.times)) {
        return fmt::format("{} stands before {}, but by the samples it comes after it",
                           name_of(claimed.kernel, claimed.config),
                           name_of(here.kernel, here.config));
      }
    }
    return "";
  }

  /// What rank_entries computes, in the entries of the verdict itself.
  void fill(std::vector<RankEntry>& entries) const {
    const std::vector<RankEntry> all = computed();
    for (RankEntry& entry : entries) {
      const RankEntry& found = find(all, entry);
      entry.median_ns = kept_ns(median_of(found));
      entry.ratio_to_best = kept(found.ratio_to_best);
      entry.speedup_over_baseline = kept(found.speedup_over_baseline);
      entry.cycles_ratio_to_best = kept(found.cycles_ratio_to_best);
      entry.tied = found.tied;
    }
  }

 private:
  /// The time of an entry. An entry that failed may have fewer rounds than the others.
  static double median_of(const RankEntry& entry) {
    return entry.failure.empty() || entry.samples_ns.empty() ? entry.median_ns
                                                             : median(entry.samples_ns);
  }

  std::string check_names() {
    if (std::string wrong = wrong_names(rank_); !wrong.empty()) return wrong;
    for (const RankEntry& entry : rank_.entries) {
      if (&find(rank_.entries, entry) == &entry) continue;
      return name_of(entry.kernel, entry.config) + " is there twice";
    }
    return "";
  }

  std::string check_rounds() {
    std::size_t rounds = 0;
    for (const RankEntry& entry : rank_.entries) rounds = std::max(rounds, entry.samples_ns.size());
    std::size_t of_passed = 0;  // what failed may have been timed in an earlier race, and longer
    for (const RankEntry& entry : rank_.entries) {
      if (entry.failure.empty()) of_passed = std::max(of_passed, entry.samples_ns.size());
    }
    for (const std::size_t possible : {rounds, of_passed}) {
      if (rank_.rounds == static_cast<int>(possible)) return "";
    }
    return fmt::format("'rounds' is {}, but there are samples of {}", rank_.rounds, rounds);
  }

  std::string check_energy() {
    if (!rank_.objective.reads("energy_j")) return "";
    for (const RankEntry& entry : rank_.entries) {
      if (entry.kernel.empty() || !entry.failure.empty() || entry.eliminated) continue;
      if (entry.energy_j > 0) continue;
      return fmt::format("'objective' is {}, but no energy of {} was measured",
                         to_text(rank_.objective), name_of(entry.kernel, entry.config));
    }
    return "";
  }

  std::string check_noise() {
    if (!rank_.noise) return "";
    const NoiseFloor& noise = *rank_.noise;
    const RankEntry* const first = first_of_noise(rank_);
    if (!first) {
      return fmt::format("'noise' is of {}, which was not timed in the same rounds",
                         name_of(noise.kernel, noise.config));
    }
    const Interval ratio = paired_ratio(noise.samples_ns, first->samples_ns);
    if (!agree(noise.ratio, ratio, tolerance_.times)) {
      return disagreement("ratio", "noise", text(noise.ratio), text(ratio));
    }
    noise_ratio_ = NoiseFloor{{}, {}, {}, ratio}.margin_ratio();
    return "";
  }

  /// A size of the problem or a parameter that the objective reads is what the names say.
  std::string check_figures() {
    for (const RankEntry& entry : rank_.entries) {
      if (entry.kernel.empty() || entry.figures.empty()) continue;
      NamedFigures named = rank_.problem;
      for (const auto& [name, value] : parse_config(entry.config)) {
        if (const auto* integer = std::get_if<std::int64_t>(&value)) {
          named.emplace_back(name, *integer);
        }
      }
      for (const auto& [name, claimed] : entry.figures) {
        for (const auto& [other, value] : named) {
          if (name != other || claimed == value) continue;
          return fmt::format("'{}' of {} is {}, but its name says {}", name,
                             name_of(entry.kernel, entry.config), to_text(claimed), to_text(value));
        }
      }
    }
    return "";
  }

  /// The verdict that the samples give. What wins a tie is what is said to. All times of `moved`
  /// are changed by a factor.
  std::vector<RankEntry> computed(const RankEntry* moved = nullptr, double factor = 1) const {
    std::vector<RankEntry> entries;
    for (const RankEntry& claimed : rank_.entries) {
      RankEntry& entry = entries.emplace_back(claimed);
      entry.median_ns = 0;
      entry.ratio_to_best = entry.speedup_over_baseline = entry.cycles_ratio_to_best = {};
      entry.winner = entry.tied = false;
      entry.tie_break = {claimed.winner ? 0 : 1};
      if (&claimed != moved) continue;
      for (double& sample_ns : entry.samples_ns) sample_ns *= factor;
      entry.energy_j *= factor;
    }
    return rank_entries(std::move(entries), noise_ratio_, rank_.objective);
  }

  /// Whether the flag would be as it is claimed if the entry's time were different in a digit that
  /// is not kept.
  bool nearly(const RankEntry& claimed, bool RankEntry::*flag) const {
    for (const double factor : {1 - tolerance_.times, 1 + tolerance_.times}) {
      if (find(computed(&claimed, factor), claimed).*flag == claimed.*flag) return true;
    }
    return false;
  }

  std::string check_entry(const RankEntry& claimed, const RankEntry& entry) const {
    const std::string name = name_of(entry.kernel, entry.config);
    if (claimed.failure != entry.failure) return fmt::format("{}: {}", name, entry.failure);
    const double median_ns = median_of(entry);
    const bool is_unset = !entry.failure.empty() && claimed.median_ns == 0;
    if (!is_unset && std::abs(claimed.median_ns - median_ns) > kLastTenthNs) {
      return disagreement("time", name, fmt::format("{:.1f} ns", claimed.median_ns),
                          fmt::format("{:.1f} ns", median_ns));
    }
    const auto differ = [&](const char* key, Interval RankEntry::*ratio, double tolerance) {
      if (agree(claimed.*ratio, entry.*ratio, tolerance)) return std::string();
      return disagreement(key, name, text(claimed.*ratio), text(entry.*ratio));
    };
    for (const auto& [key, flag] :
         {std::pair("winner", &RankEntry::winner), {"tied", &RankEntry::tied}}) {
      if (claimed.*flag == entry.*flag || nearly(claimed, flag)) continue;
      return disagreement(key, name, fmt::format("{}", claimed.*flag),
                          fmt::format("{}", entry.*flag));
    }
    for (const std::string& wrong :
         {differ("speedup", &RankEntry::speedup_over_baseline, tolerance_.times),
          differ("ratio_to_best", &RankEntry::ratio_to_best, tolerance_.times),
          differ("cycles_ratio_to_best", &RankEntry::cycles_ratio_to_best, tolerance_.cycles)}) {
      if (!wrong.empty()) return wrong;
    }
    const double margin = std::max(noise_ratio_, kLeastTimeMargin);
    if (rank_.objective == Objective::time && entry.eliminated && entry.kernel.size() > 0 &&
        entry.ratio_to_best.high < 1 - margin) {
      return fmt::format(
          "'eliminated' of {} is true, but by the samples it is faster than the winner", name);
    }
    return "";
  }

  const RankRecord& rank_;
  Tolerance tolerance_;
  double noise_ratio_ = 0;
};

}  // namespace

std::string contradiction(const RankRecord& rank) {
  Claims claims(rank);
  std::string wrong = claims.check_premises();
  return wrong.empty() ? claims.check_entries() : wrong;
}

std::string derive(RankRecord& rank) {
  if (rank.noise) {
    const RankEntry* const first = first_of_noise(rank);
    if (first) rank.noise->ratio = kept(paired_ratio(rank.noise->samples_ns, first->samples_ns));
  }
  Claims claims(rank);
  std::string wrong = claims.check_premises();
  if (!wrong.empty()) return wrong;
  claims.fill(rank.entries);
  return claims.check_entries();
}

void derive(Timing& timing) {
  const Interval time_ns = median_or_range(timing.samples_ns);
  timing.median_ns = kept_ns(time_ns.value);
  timing.ci_low_ns = kept_ns(time_ns.low);
  timing.ci_high_ns = kept_ns(time_ns.high);
  if (timing.clocks_mhz.empty()) return;  // a recording has only the median of those of a trial
  std::vector<double> known_mhz = timing.clocks_mhz;
  std::erase_if(known_mhz, [](double mhz) { return !(mhz > 0); });
  timing.clock_mhz = known_mhz.empty() ? 0 : median(known_mhz);
}

std::string contradiction(const Timing& timing) {
  if (timing.samples_ns.empty()) return "'time' has no samples";
  for (const double sample_ns : timing.samples_ns) {
    if (sample_ns > 0 && std::isfinite(sample_ns)) continue;
    return fmt::format("'runtimes' has {} ns, which is no time", sample_ns);
  }
  if (!timing.clocks_mhz.empty() && timing.clocks_mhz.size() != timing.samples_ns.size()) {
    return "'clocks_mhz' has a clock for some samples only";
  }
  if (!(timing.clock_mhz >= 0) || std::isinf(timing.clock_mhz)) {
    return fmt::format("'clock_mhz' is {}, which is no clock", timing.clock_mhz);
  }
  const Interval time_ns = median_or_range(timing.samples_ns);
  // An end that is infinite says nothing.
  const auto differ = [](double claimed, double computed) {
    return !std::isinf(claimed) && !(std::abs(claimed - computed) <= kLastTenthNs);
  };
  if (std::isinf(timing.median_ns) || differ(timing.median_ns, time_ns.value)) {
    return fmt::format("'time' is {:.1f} ns, but by the samples it is {:.1f}", timing.median_ns,
                       time_ns.value);
  }
  if (differ(timing.ci_low_ns, time_ns.low) || differ(timing.ci_high_ns, time_ns.high)) {
    return fmt::format(
        "'interval' is {:.1f} to {:.1f} ns, but by the samples it is {:.1f} to {:.1f}",
        timing.ci_low_ns, timing.ci_high_ns, time_ns.low, time_ns.high);
  }
  return "";
}

}  // namespace assay
