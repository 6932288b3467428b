#include "base/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/find_named.h"
#include "base/hash.h"

namespace assay {

const RankEntry* find_entry(const std::vector<RankEntry>& entries, std::string_view kernel,
                            std::string_view config) {
  const auto found = std::ranges::find_if(entries, [&](const RankEntry& entry) {
    return entry.kernel == kernel && entry.config == config;
  });
  return found == entries.end() ? nullptr : &*found;
}

double NoiseFloor::margin_ratio() const {
  // With fewer than six rounds there is no interval, so take the ratio itself.
  const bool bounded = ratio.low > 0 && std::isfinite(ratio.high);
  const double low = bounded ? ratio.low : ratio.value;
  const double high = bounded ? ratio.high : ratio.value;
  return std::max({high - 1, 1 / low - 1, 0.0});
}

KernelVersion RankRecord::version_of(const std::string& kernel) const {
  const auto* found = find_named(kernels, kernel);
  return found == nullptr ? KernelVersion{} : *found;
}

QuestionOrder order_of(const Question& question) {
  std::vector<double> sizes;
  for (const auto& [name, number] : question.problem) sizes.push_back(to_real(number));
  return {question.op, question.device.name, question.protocol, std::move(sizes),
          to_text(question.problem)};
}

std::string question_text(const Question& question) {
  return fmt::format("{} {} {} {}", question.op, to_text(question.problem), question.device.slug(),
                     question.protocol);
}

std::string heading_text(const Question& question) {
  return fmt::format("{} on {}, protocol {}", question.op, question.device.name, question.protocol);
}

void CandidateSet::add(const TrialRecord& trial) {
  if (trial.outcome.status != Status::correct || !trial.outcome.timing) return;
  add(trial.kernel, trial.toolchain, to_text(trial.config));
}

void CandidateSet::add(const KernelVersion& kernel, const Toolchain& toolchain,
                       std::string_view config) {
  Hasher hasher;
  hasher.add(kernel.name).add(kernel.source_hash).add(kernel.contract_hash);
  hasher.add(toolchain.nvrtc).add(toolchain.arch).add(toolchain.options).add(toolchain.driver);
  keys_.insert(hasher.add(config).hex());
}

std::string CandidateSet::hash() const {
  if (keys_.empty()) return "";
  std::vector<std::string_view> sorted(keys_.begin(), keys_.end());
  std::ranges::sort(sorted);
  Hasher hasher;
  for (const std::string_view key : sorted) hasher.add(key);
  return hasher.hex();
}

}  // namespace assay
