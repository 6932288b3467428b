#pragma once

#include <limits>

#include "base/file.h"
#include "base/rank.h"
#include "ranking/ranking.h"
#include "store/store_fixture.h"

namespace assay {

/// What a recording keeps of timed_record().
inline TrialRecord recorded_trial(const TrialKey& key) {
  TrialRecord trial = timed_record(key);
  Timing& timing = trial.outcome.timing.value();
  timing.clock_mhz = std::round(timing.clock_mhz);
  timing.clocks_mhz.clear();
  return trial;
}

/// Trials, baselines and verdicts with all that a recording can hold.
inline Recording sample_recording() {
  Recording recording;
  recording.sweep = "gemm_h200";
  recording.device = h200();
  recording.recorded_at = "2026-11-21";
  recording.trials.push_back(recorded_trial(key_of(1)));
  recording.trials.back().verification = {{{"data", CheckResult::passed, "16 seeds"},
                                           {"racecheck", CheckResult::failed, "Race reported"},
                                           {"streams", CheckResult::skipped, ""}},
                                          {"13.1", "90a", "--use_fast_math", "590.1"},
                                          "2026-11-22T10:00:00Z"};
  TrialKey edited = key_of(2);
  edited.kernel = {"gemm_edited", "gemm_bf16", "edited", "contract"};
  edited.config = {{"SCHEDULE", "grouped"}, {"BLOCK", -9007199254740993}};
  Outcome failed{Status::correctness, "mismatch", "größer\n\"quoted\" \\ and a tab\t"};
  failed.validation = Validation{std::nan(""), 0.01, std::numeric_limits<double>::infinity(), 12,
                                 "kernel ref of ref.cu"};
  recording.trials.push_back(record_of(edited, failed));
  recording.trials.push_back(record_of(key_of(3), {.timing = timing_of({32, 64})}));
  recording.trials.back().config.clear();

  const TrialKey key = key_of(1);
  recording.baselines.push_back({"gemm_bf16", key.problem, key.protocol, key.toolchain, "cublaslt",
                                 "algorithm 2 of 8", timing_of({1, 2, 3, 4, 5, 6, 7}),
                                 "2026-11-21T10:00:00Z", "13.1.0.3", "contract"});
  recording.baselines.back().timing.num_throttled = 1;
  recording.baselines.back().timing.roofline_ns = 3.5;
  RankEntry winner{"gemm", to_text(key.config), {5.1, 6, 7}};
  winner.clocks_mhz = {1980, 1965, 1755};
  winner.energy_j = 0.00312;
  RankEntry baseline{"", "cublaslt", {8, 9, 10}};
  baseline.energy_j = 0.01;
  RankEntry slow{"gemm", "BLOCK=4", {9}};
  slow.eliminated = true;
  slow.clocks_mhz = {1980};
  RankEntry loser{"gemm", "BLOCK=2", {}};
  loser.failure = "unwritten";
  const std::vector<double> again_ns{5.2, 6, 7};
  RankRecord judged{"gemm_bf16", key.problem, key.protocol, 3, {}, "2026-11-21T11:00:00Z"};
  judged.noise =
      NoiseFloor{"gemm", winner.config, again_ns, paired_ratio(again_ns, winner.samples_ns)};
  judged.entries = rank_entries({winner, baseline, slow, loser}, judged.noise->margin_ratio());
  derive(judged);  // with the digits that a recording keeps
  judged.entries[0].roofline_ns = 4.5;
  recording.ranks.push_back(judged);
  CandidateSet candidates;
  for (const TrialRecord& trial : recording.trials) candidates.add(trial);
  RankRecord& rank = recording.ranks.back();
  rank.identity = {candidates.hash(), 2, 8, 30, Objective::time, {"cublaslt"}, "13.1.0.3", 0.003};
  rank.toolchain = key.toolchain;
  rank.kernels = {key.kernel};
  recording.ranks.push_back(recording.ranks.back());
  recording.ranks.back().objective = Objective::edp;
  recording.ranks.back().identity.objective = Objective::edp;
  recording.ranks.push_back(recording.ranks.back());
  RankRecord& metric = recording.ranks.back();
  metric.objective = parse_objective("minimize time_ns + 0 * registers; minimize skew").value();
  metric.identity.objective = metric.objective;
  for (RankEntry& entry : metric.entries) {
    if (!entry.kernel.empty())
      entry.figures = {{"registers", std::int64_t{128}}, {"skew", 1 / 3.0}};
  }
  return recording;
}

inline std::string describe(const Recording& recording) {
  std::string text =
      fmt::format("{} {} {}", recording.sweep, recording.recorded_at, describe(recording.device));
  for (const auto& trial : recording.trials) text += describe(trial) + "\n";
  for (const auto& baseline : recording.baselines) text += describe(baseline) + "\n";
  for (const auto& rank : recording.ranks) text += describe(rank);
  return text;
}

/// What a file of it holds.
inline std::string written(const Recording& recording, const std::string& name = "x.jsonl") {
  TempFolder folder;
  write_recording(recording, folder / name);
  return read_file(folder / name);
}

inline Recording read_text(const std::string& text) {
  const TempFolder folder;
  return read_recording(folder.write("x.jsonl", text));
}

}  // namespace assay
