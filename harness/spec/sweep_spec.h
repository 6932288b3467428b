#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/objective.h"
#include "spec/kernel_spec.h"

namespace assay {

/// search/search.h says what each does.
enum class Strategy { automatic, exhaustive, random, model };
std::string_view to_text(Strategy strategy);  // "auto", "exhaustive", ...

/// In which order configurations are tried, and when to stop.
struct SearchSpec {
  Strategy strategy = Strategy::automatic;
  std::uint64_t seed = 1;                      // of all that is drawn
  std::optional<std::int64_t> budget_configs;  // per kernel and problem
  std::optional<double> budget_seconds;        // for the whole sweep
  /// Ends the search of a kernel and problem once no more is likely to be gained: 0.02 is 2 %.
  std::optional<double> budget_until_ratio = {};
};

struct MeasureSpec {
  std::string protocol = "cold";
  /// How narrow the median's 95 % interval must be: its half-width over the median. With 0, no
  /// precision is enough, and every configuration is sampled for the whole of its time.
  double precision_ratio = 0.005;
  double max_seconds_per_config = 2;
  /// By the names of base/counters.cpp: what is counted of those that a re-rank timed to its end.
  std::vector<std::string> counters = {};
  bool operator==(const MeasureSpec&) const = default;
};

struct RerankSpec {
  int top = 8;      // configurations that are timed at full length: in all rounds
  int rounds = 30;  // at least
  static constexpr int kMostRounds = 1000;
  /// To how much the ratios must be known: half the width of their 95 % intervals.
  double precision_ratio = 0.003;
  Objective objective = {};
  bool operator==(const RerankSpec&) const = default;
};

/// An objective over the names of `kernels`, all of which must know them. `texts` are written at a
/// command line, one objective each. Throws SpecError.
Objective read_objective(const std::vector<std::string>& texts,
                         const std::vector<KernelSpec>& kernels);

/// sweeps/y.yaml with its kernels loaded and narrowed: each kernel's params and constraints are
/// those of the kernel and of the sweep together.
struct SweepSpec {
  std::string name;
  std::vector<KernelSpec> kernels;
  std::vector<Problem> problems;  // lists expanded; each has every dim of every kernel
  SearchSpec search;
  MeasureSpec measure;
  RerankSpec rerank;
  std::filesystem::path yaml_path;
};

/// Loads sweeps/y.yaml, or makes a sweep of a kernel's smoke problem when `path` is a kernel, or of
/// all its twins. Kernels are looked up as NAME.yaml in `kernel_directory`. Throws SpecError or
/// UsageError.
SweepSpec load_sweep(const std::filesystem::path& path,
                     const std::filesystem::path& kernel_directory);

/// Whether the file has the key `kernel` rather than `sweep`. Throws SpecError or UsageError.
bool is_kernel_file(const std::filesystem::path& path);

}  // namespace assay
