#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "base/find_named.h"
#include "base/rank.h"
#include "device/device.h"

namespace assay {
namespace {

Outcome not_recorded(const TrialRequest& request, const std::string& provenance) {
  return {Status::runtime, "not_recorded",
          fmt::format("{} {} {} is not among the {} trials {}", request.plan.kernel,
                      to_text(request.plan.problem), to_text(request.plan.config),
                      request.measure.protocol, provenance)};
}

RerankEntry replayed(const std::string& name, const RankEntry* recorded) {
  RerankEntry entry;
  entry.name = name;
  if (recorded == nullptr) return entry;
  entry.samples_ns = recorded->samples_ns;
  entry.clocks_mhz = recorded->clocks_mhz;
  entry.eliminated = recorded->eliminated;
  entry.energy_j = recorded->energy_j;
  if (!recorded->failure.empty()) {
    entry.outcome.status = Status::correctness;
    entry.outcome.message = recorded->failure;
  }
  return entry;
}

/// Keeps only the rounds in which every entry took part. An entry dropped out because of the
/// recorded winner. Where the winner is no candidate, nobody says who would have dropped out.
void keep_common_rounds(RerankResult& result) {
  std::vector<RerankEntry*> entries;
  for (RerankEntry& entry : result.candidates) entries.push_back(&entry);
  for (RerankEntry& entry : result.baselines) entries.push_back(&entry);
  if (result.duplicate) entries.push_back(&*result.duplicate);
  std::size_t rounds = std::numeric_limits<std::size_t>::max();
  for (const RerankEntry* entry : entries) {
    if (!entry->samples_ns.empty()) rounds = std::min(rounds, entry->samples_ns.size());
  }
  for (RerankEntry* entry : entries) {
    entry->samples_ns.resize(std::min(rounds, entry->samples_ns.size()));
    entry->clocks_mhz.resize(std::min(rounds, entry->clocks_mhz.size()));
    entry->eliminated = false;
  }
}

// Protocol, kernel, problem, configuration. For a trial of another tuner only the configuration
// counts, and the rest is empty: its file is of one kernel and one problem, whatever they are
// called here.
using Key = std::tuple<std::string, std::string, std::string, std::string>;

/// Whether the trial is from another tuner, which has no hash of our sources.
bool is_foreign(const TrialRecord& trial) { return trial.kernel.source_hash.empty(); }

/// The key of a trial of another tuner. It is the same for every order of the parameters.
Key foreign_key(Config config) {
  std::ranges::sort(config);
  return {"", "", "", to_text(config)};
}

Key key_of(const TrialRecord& trial) {
  if (is_foreign(trial)) return foreign_key(trial.config);
  return {trial.protocol.name, trial.kernel.name, to_text(trial.problem), to_text(trial.config)};
}

class ReplayDevice : public Device {
 public:
  explicit ReplayDevice(Recording recording) : recording_(std::move(recording)) {
    // recorded_at may have a time of day. A provenance_ has only the day.
    provenance_ = fmt::format("recorded on {}, {}", recording_.device.name,
                              recording_.recorded_at.substr(0, 10));
    for (std::size_t i = 0; i < recording_.trials.size(); ++i) {
      const TrialRecord& trial = recording_.trials[i];
      ops_[trial.kernel.name] = trial.kernel.op;
      // A later trial of the same configuration replaces an earlier one, as in the store.
      trials_[key_of(trial)] = i;
    }
  }

  const DeviceInfo& info() const override { return recording_.device; }
  std::string provenance() const override { return provenance_; }

  std::string cublas_version() override {
    const auto& baselines = recording_.baselines;
    return baselines.empty() ? "" : baselines.back().cublas;
  }

  Outcome run(const TrialRequest& request) override {
    const TrialRecord* trial = find_trial(request);
    if (trial == nullptr) return not_recorded(request, provenance_);
    Outcome outcome = trial->outcome;
    outcome.recorded_at = trial->finished_at;
    return outcome;
  }

  std::vector<Config> recorded(const std::string& kernel, const Problem& problem,
                               const std::string& protocol) const override {
    std::vector<Config> configs;
    for (const auto& [key, index] : trials_) {
      const TrialRecord& trial = recording_.trials[index];
      const bool is_asked_for = trial.kernel.name == kernel && trial.problem == problem &&
                                trial.protocol.name == protocol;
      if (is_foreign(trial) || is_asked_for) configs.push_back(trial.config);
    }
    return configs;
  }

  std::vector<Measurement> count(const TrialRequest& request,
                                 const std::vector<std::string>& names) override {
    std::vector<Measurement> counted;
    const TrialRecord* trial = find_trial(request);
    if (trial == nullptr) return counted;
    std::copy_if(trial->measurements.begin(), trial->measurements.end(),
                 std::back_inserter(counted),
                 [&](const Measurement& each) { return std::ranges::count(names, each.name) > 0; });
    return counted;
  }

  std::vector<std::string> countable(const std::vector<std::string>& names) override {
    std::vector<std::string> known = names;
    std::erase_if(known, [&](const std::string& name) {
      if (name == "energy_j") {
        return std::ranges::none_of(recording_.ranks, [](const RankRecord& rank) {
          return std::ranges::any_of(rank.entries,
                                     [](const RankEntry& entry) { return entry.energy_j > 0; });
        });
      }
      return std::ranges::none_of(recording_.trials, [&](const TrialRecord& trial) {
        return find_named(trial.measurements, name) != nullptr;
      });
    });
    return known;
  }

  std::vector<BaselineTiming> run_baselines(const TrialRequest& request,
                                            const std::vector<std::string>&) override {
    // What is asked for ("cublaslt") and what was timed ("cublaslt_first", "cublaslt_best") have
    // different names. The op and the problem say which belong together.
    const std::string op = op_of(request);
    std::map<std::string, const BaselineRecord*> newest;
    for (const BaselineRecord& baseline : recording_.baselines) {
      if (baseline.op != op || baseline.problem != request.plan.problem ||
          baseline.protocol.name != request.measure.protocol) {
        continue;
      }
      const BaselineRecord*& best = newest[baseline.name];
      if (best == nullptr || best->finished_at <= baseline.finished_at) best = &baseline;
    }
    std::vector<BaselineTiming> timings;
    for (const auto& [name, baseline] : newest) {
      timings.push_back({name, baseline->detail, baseline->timing, {}, baseline->finished_at});
    }
    return timings;
  }

  RerankResult rerank(const std::vector<TrialRequest>& candidates, const std::vector<std::string>&,
                      const RerankSpec& spec) override {
    const RankRecord* rank = find_rank(candidates, spec.objective);
    RerankResult result;
    bool has_winner = false;
    for (const TrialRequest& candidate : candidates) {
      const std::string config = to_text(candidate.plan.config);
      const RankEntry* const entry =
          rank ? find_entry(rank->entries, candidate.plan.kernel, config) : nullptr;
      result.candidates.push_back(replayed(config, entry));
      has_winner = has_winner || (entry && entry->winner);
    }
    if (rank == nullptr) return result;
    result.recorded_at = rank->finished_at;
    if (const auto& noise = rank->noise) {
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (candidates[i].plan.kernel != noise->kernel ||
            result.candidates[i].name != noise->config) {
          continue;
        }
        result.duplicate = RerankEntry{noise->config, noise->samples_ns, {}};
        result.duplicate_of = i;
      }
    }
    for (const RankEntry& entry : rank->entries) {
      if (entry.kernel.empty()) result.baselines.push_back(replayed(entry.config, &entry));
    }
    if (!has_winner && std::ranges::any_of(rank->entries, &RankEntry::winner)) {
      keep_common_rounds(result);
    }
    return result;
  }

 private:
  /// Null when it was not recorded.
  const TrialRecord* find_trial(const TrialRequest& request) const {
    const Plan& plan = request.plan;
    auto found = trials_.find(
        {request.measure.protocol, plan.kernel, to_text(plan.problem), to_text(plan.config)});
    if (found == trials_.end()) found = trials_.find(foreign_key(plan.config));
    return found == trials_.end() ? nullptr : &recording_.trials[found->second];
  }

  std::string op_of(const TrialRequest& request) const {
    const auto found = ops_.find(request.plan.kernel);
    return found == ops_.end() ? std::string() : found->second;
  }

  /// The recorded rank of the problem that holds the most candidates. Among equals it takes one of
  /// the objective asked for, then the newest. Null when no rank holds any candidate.
  const RankRecord* find_rank(const std::vector<TrialRequest>& candidates,
                              const Objective& objective) const {
    const RankRecord* best = nullptr;
    std::tuple<std::ptrdiff_t, bool, std::string> best_key;
    for (const RankRecord& rank : recording_.ranks) {
      const auto num_held = std::ranges::count_if(candidates, [&](const TrialRequest& candidate) {
        const Plan& plan = candidate.plan;
        return rank.op == op_of(candidate) && rank.problem == plan.problem &&
               rank.protocol.name == candidate.measure.protocol &&
               find_entry(rank.entries, plan.kernel, to_text(plan.config)) != nullptr;
      });
      const std::tuple key(num_held, rank.objective == objective, rank.finished_at);
      if (num_held > 0 && (best == nullptr || best_key <= key)) {
        best = &rank;
        best_key = key;
      }
    }
    return best;
  }

  Recording recording_;
  std::string provenance_;
  std::map<Key, std::size_t> trials_;       // index in the recording
  std::map<std::string, std::string> ops_;  // of the kernels by name
};

}  // namespace

std::unique_ptr<Device> make_replay_device(Recording recording) {
  return std::make_unique<ReplayDevice>(std::move(recording));
}

}  // namespace assay
