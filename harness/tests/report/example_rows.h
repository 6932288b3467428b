#pragma once

#include <string>
#include <vector>

#include "report/run.h"
#include "report/tuned_table.h"

namespace assay {

/// Numbers the trials and the verdicts, and points the entries of the verdicts at their trials, as
/// a store does.
inline Results numbered(Results results) {
  for (std::size_t i = 0; i < results.trials.size(); ++i) {
    results.trials[i].id = static_cast<std::int64_t>(7 + i);
  }
  for (RankRow& rank : results.ranks) {
    rank.id = 1 + (&rank - results.ranks.data());
    for (RankEntry& entry : rank.record.entries) {
      for (const TrialRow& row : results.trials) {
        const TrialRecord& trial = row.record;
        if (trial.kernel == rank.record.version_of(entry.kernel) &&
            to_text(trial.config) == entry.config && trial.problem == rank.record.problem &&
            trial.protocol == rank.record.protocol && trial.toolchain == rank.record.toolchain &&
            row.device.name == rank.device.name && row.provenance == rank.provenance) {
          entry.trial_id = row.id;
        }
      }
    }
  }
  return results;
}

/// The tables of what a store would hold if it held these.
inline std::vector<TunedTable> tuned_tables(const std::vector<RankRow>& ranks,
                                            const std::vector<TrialRow>& trials = {},
                                            const std::vector<BaselineRow>& baselines = {},
                                            Screened screened = Screened::show) {
  return tuned_tables(numbered({trials, baselines, ranks}), screened);
}

}  // namespace assay

// Rows as a store's queries would return them, for the tests of the reports.
namespace assay::example {

inline constexpr const char* kBest = "BLOCK_M=64,STAGES=3";

inline DeviceInfo h200() { return {"NVIDIA H200", "GPU-1", "580.159.04", 90, 132}; }

inline Problem problem(std::int64_t m, std::int64_t n) { return {{"M", m}, {"N", n}}; }

inline TrialRow trial(const Problem& problem, const std::string& kernel, const std::string& config,
                      double median_ns) {
  TrialRow row;
  row.id = 7;
  row.device = h200();
  row.record.kernel = {kernel, "gemm_bf16", "source-" + kernel, "contract-" + kernel};
  row.record.toolchain = {"13.0", "90a", "-std=c++20", "580.159.04"};
  row.record.problem = problem;
  row.record.config = parse_config(config);
  row.record.compile.registers = 128;
  row.record.finished_at = "2026-11-21T10:00:00Z";
  row.record.outcome.timing = Timing{{median_ns - 1, median_ns, median_ns, median_ns + 1},
                                     median_ns,
                                     median_ns - 1,
                                     median_ns + 1};
  return row;
}

inline TrialRow failure(const Problem& problem, const std::string& config, Status status,
                        const std::string& kind, const std::string& message) {
  TrialRow row = trial(problem, "gemm_mma", config, 1);
  row.record.outcome = {status, kind, message};
  return row;
}

inline RankEntry entry(const std::string& kernel, const std::string& config, double median_ns,
                       double ratio) {
  RankEntry entry;
  entry.kernel = kernel;
  entry.config = config;
  for (int i = -5; i <= 5; ++i) entry.samples_ns.push_back(median_ns + i);
  entry.median_ns = median_ns;
  entry.ratio_to_best = {ratio, ratio - 0.001, ratio + 0.001};
  return entry;
}

/// A rank in which `winner` beats a runner-up of another configuration and a baseline.
inline RankRow rank(const Problem& problem, const std::string& kernel, const std::string& config,
                    double median_ns, double baseline_ns) {
  RankRow row;
  row.device = h200();
  row.record.op = "gemm_bf16";
  row.record.problem = problem;
  row.record.rounds = 11;
  row.record.finished_at = "2026-11-21T11:00:00Z";
  RankEntry winner = entry(kernel, config, median_ns, 1);
  winner.ratio_to_best = {1, 1, 1};
  winner.speedup_over_baseline = {baseline_ns / median_ns, baseline_ns / median_ns - 0.01,
                                  baseline_ns / median_ns + 0.01};
  winner.winner = true;
  winner.tied = true;
  RankEntry baseline = entry("", "cublaslt_best", baseline_ns, baseline_ns / median_ns);
  row.record.toolchain = {"13.0", "90a", "-std=c++20", "580.159.04"};
  for (const std::string name : {"gemm_mma", "gemm_wgmma"}) {
    row.record.kernels.push_back({name, "gemm_bf16", "source-" + name, "contract-" + name});
  }
  row.record.entries = {winner, entry("gemm_mma", "BLOCK_M=32,STAGES=9", median_ns * 1.05, 1.05),
                        baseline};
  return row;
}

/// The run that found these results.
inline Run run(std::string name, Results results) {
  RunBuilder builder;
  for (const TrialRow& row : results.trials) builder.add(row);
  return builder.finish(std::move(name), std::move(results.ranks));
}

}  // namespace assay::example
