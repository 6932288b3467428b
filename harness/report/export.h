#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/tuned_table.h"
#include "spec/kernel_spec.h"

namespace assay {

// Tuned tables for other software. Every function takes tables whose problems are unique (see
// unique_problems).

/// {"schema": "assay-tuned-table", "version": 1, "tables": [...]}: device, protocol, objective, and
/// an entry a problem with provenance, toolchain, margin and ties. Fields may be added within
/// version 1.
std::string export_json(const std::vector<TunedTable>& tables);

/// RFC 4180: a header line, then one record a problem; CRLF at the ends of lines; a field that is
/// not known is empty; one that a spreadsheet would compute (`=...`) begins with an apostrophe.
std::string export_csv(const std::vector<TunedTable>& tables);

/// One C++17 header that includes nothing of ours: `NAMESPACE::OP::lookup({16, ...})` gives a
/// kernel, a `Config` with one field a parameter, and whether the match is exact, the nearest or
/// the fallback; all constexpr. For kernels whose contract is among `contracts`, by name,
/// `launch(kernel, config, problem, index)` gives entry, grid, block, cluster and shared memory.
/// Throws UsageError when an op has more than one table, or when `name_space` is not a namespace's
/// name.
std::string export_header(const std::vector<TunedTable>& tables, const std::string& name_space,
                          const std::map<std::string, KernelSpec>& contracts = {});

/// A Markdown table for each table.
std::string export_markdown(const std::vector<TunedTable>& tables);

/// One picture: the speed-ups with their intervals, a row for each problem. Light or dark, as the
/// reader prefers.
std::string export_svg(const std::vector<TunedTable>& tables);

// Tables that other software looks configurations up in. Each throws UsageError, with the reason,
// where a kernel's parameters or the table do not mean what the format says.

/// Kernel Launcher's wisdom of one kernel, JSON Lines: a header line with the parameters, then a
/// line a problem.
std::string export_wisdom(const std::vector<TunedTable>& tables);

/// Python: CONFIGS, a list of rows {problem, triton.Config} of one kernel.
std::string export_triton(const std::vector<TunedTable>& tables);

struct NamedText {
  std::string file_name;
  std::string text;
};
/// vLLM's tables for fused MoE: a file for each number of experts and width, by number of tokens.
std::vector<NamedText> export_vllm_moe(const std::vector<TunedTable>& tables);

// What measures a run over time reads. A name is the same whatever configuration won.

/// "gemm_bf16/best/M:16/N:4096": the name of a result, as Google Benchmark puts names together.
/// `entry` is "best" or a baseline's name.
std::string benchmark_name(const std::string& op, const std::string& entry, const Problem& problem,
                           const std::string& protocol, const Objective& objective = {});

/// What Google Benchmark's tools read: winners and baselines as it would print them. Throws
/// UsageError when there are results of several devices, since the format names one.
std::string export_google_benchmark(const std::vector<TunedTable>& tables);
/// github-action-benchmark's `customSmallerIsBetter`.
std::string export_github_action_benchmark(const std::vector<TunedTable>& tables);
/// Bencher Metric Format: the latency of each winner.
std::string export_bencher(const std::vector<TunedTable>& tables);
/// JUnit XML: a test case for each winner, with its time; it fails where its verification did.
std::string export_junit(const std::vector<TunedTable>& tables);

// All that was tried, for tuners. The trials are in full; each throws UsageError unless they are of
// one kernel, problem, device and protocol.

/// T4 (Open Autotuning Results Schema 1.0.0).
std::string export_t4(const std::vector<TrialRow>& trials);
/// A Kernel Tuner cachefile.
std::string export_kernel_tuner(const std::vector<TrialRow>& trials);

/// `text` as a C++ identifier: other characters become '_'; a keyword, `std`, a name that
/// begins like the compiler's own (`__x`, `_X`) or with a digit gets a '_'.
std::string identifier(const std::string& text);

}  // namespace assay
