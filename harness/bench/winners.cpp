#include "bench/winners.h"

#include <algorithm>
#include <utility>

#include "base/stats.h"

namespace assay {
namespace {

constexpr const char* kBest = "best";

const RankEntry* find(const RankRecord& rank, const std::string& entry) {
  for (const RankEntry& each : rank.entries) {
    if (entry == kBest ? each.winner : each.kernel.empty() && each.config == entry) return &each;
  }
  return nullptr;
}

/// Every `step`-th of the known values, from the `first` on; all of them if that leaves none.
std::vector<double> dealt(const std::vector<double>& values, std::size_t first, std::size_t step) {
  std::vector<double> taken;
  for (std::size_t i = first % step; i < values.size(); i += step) taken.push_back(values[i]);
  std::vector<double> known;
  for (const double value : taken.empty() ? values : taken) {
    if (value > 0) known.push_back(value);
  }
  return known;
}

BenchTime time_of(const RunResult& result, const std::string& entry, std::size_t repetition,
                  std::size_t num_repetitions) {
  if (!result.rank) {
    const std::string failure = result.failure();
    return {0, 0, 0, failure.empty() ? "there is no verdict: it was not re-ranked" : failure};
  }
  const RankEntry* found = find(*result.rank, entry);
  if (!found) return {0, 0, 0, entry + " was not measured"};
  if (!found->failure.empty()) return {0, 0, 0, found->failure};
  const std::vector<double> times = dealt(found->samples_ns, repetition, num_repetitions);
  const std::vector<double> clocks = dealt(found->clocks_mhz, repetition, num_repetitions);
  BenchTime time;
  time.median_ns = times.empty() ? found->median_ns : median(times);
  if (!clocks.empty()) time.clock_mhz = median(clocks);
  if (found->roofline_ns > 0) time.roofline_ratio = found->roofline_ns / time.median_ns;
  return time;
}

}  // namespace

BenchQuestion::BenchQuestion(RunResult stored, Remeasurer* gpu, std::size_t num_repetitions)
    : stored_(std::move(stored)), gpu_(gpu), num_repetitions_(num_repetitions) {
  if (gpu_) obstacle_ = gpu_->obstacle(stored_);
}

std::vector<std::string> BenchQuestion::entries() const {
  std::vector<std::string> names{kBest};
  if (!stored_.rank) return names;
  for (const RankEntry& entry : stored_.rank->entries) {
    if (entry.kernel.empty()) names.push_back(entry.config);
  }
  std::sort(names.begin() + 1, names.end());
  return names;
}

BenchTime BenchQuestion::next(const std::string& entry) {
  const std::size_t repetition = num_asked_[entry]++;
  if (!gpu_) return time_of(stored_, entry, repetition, num_repetitions_);
  if (!stored_.rank) return time_of(stored_, entry, 0, 1);
  if (!obstacle_.empty())
    return {0, 0, 0, "not measured: " + obstacle_ + "; --replay shows the stored times"};
  while (measured_.size() <= repetition) measured_.push_back(gpu_->measure(stored_));
  return time_of(measured_[repetition], entry, 0, 1);
}

}  // namespace assay
