#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/stats.h"
#include "base/terminal.h"
#include "base/trial.h"
#include "inspect/findings.h"
#include "report/launch_figures.h"

// What the time of a configuration is made of: figures in, sentences out. Nothing here looks at a
// device, a file or a clock.

namespace assay {

/// What is known of one configuration for one problem. 0, or empty: not known.
struct Figures {
  std::string title;          // what the user named: "trial 12: gemm_wgmma M=16,..."
  std::string question = {};  // what its time may be compared in: op, problem, protocol, device
  Config config = {};
  std::string where = {};              // "on NVIDIA H200", "recorded on NVIDIA H200, 2026-11-22"
  Interval time_ns = {};               // the median and its 95 % interval
  std::string verdict = {};            // the re-rank that timed it in turn with others
  std::vector<double> rounds_ns = {};  // its times there, one of each round
  std::string protocol = {};           // "cold"
  double clock_mhz = 0;                // of the SMs
  std::string throttled = {};          // what held the clock down, as throttle_text() says it
  double bytes = 0;                    // that must be moved, by the contract
  double flops = 0;                    // likewise
  bool on_tensor_cores = false;  // whether the ceiling of the operations is that of tensor cores
  bool from_l2 = false;          // whether what must be read is in L2 already
  // The least time for each, at the ceilings of the device; `roofline_ns` is the longer one of the
  // first two, where it is not known which that is.
  double memory_ns = 0;
  double operations_ns = 0;
  double roofline_ns = 0;
  double launches_ns = 0;     // of as many launches that do nothing
  double l2_bytes_per_s = 0;  // that the device reads from L2
  int cc = 0;
  int sm_count = 0;
  std::vector<LaunchFigures> launches = {};
  std::optional<CompileReport> report = {};
  std::vector<Measurement> counters = {};                 // by the names of base/counters.cpp
  std::optional<std::vector<CodeFinding>> findings = {};  // in all functions of the code
  std::string no_code = {};                               // why there are none
  std::string profile_command = {};  // what counts for this configuration; empty: it has no trial

  std::optional<double> counter(std::string_view name) const;
  /// How many warps there are for each instruction that is issued, in the unit of the counters of
  /// stalls; 0 if it is not known.
  double warps_per_issue() const;
};

enum class CauseKind {
  limit,  // how long the work takes at a limit of the device
  loss,   // time in which some of the device has nothing to do
  wait,   // what warps wait for, as counted
  hint,   // a fact of the code or the launch that may cost time; how much is not known
};
std::string_view to_text(CauseKind kind);

struct Cause {
  CauseKind kind = CauseKind::hint;
  std::string_view name;  // "memory", "last wave", "spills", ...
  double share = 0;       // of the time, 1 is all of it; of a hint 0
  std::string phrase;     // "6 % lost in the last wave (1.03 waves)"; of a hint empty
  std::string text;       // a sentence with the figures that it follows from
  std::vector<std::string_view> of = {};  // the limits and losses that a hint may explain
};

/// A figure that is missing, and what gives it.
struct MissingFigure {
  std::string figure;
  std::string command;
};

struct Explanation {
  /// The name of the limit or the loss that most of the time goes to. Empty: the figures do not
  /// say.
  std::string_view main = {};
  std::string headline;              // "memory-bound: 94 % of what this GPU reads; ..."
  std::vector<Cause> causes;         // limits and losses that count, the largest first
  std::vector<Cause> behind = {};    // the hints that may explain `main`, or what is unexplained
  std::vector<Cause> harmless = {};  // those whose effect was counted, and is small
  double unexplained = 0;            // share of the time; 0 where no time is known
  std::vector<MissingFigure> missing = {};
};

/// Says of the roofline of a trial whether memory or operations set it, where the ceilings are not
/// known, and puts it into `figures`, whose other figures must be there. Operations cannot have set
/// it if they would then run at much less than what SMs of this kind do in a clock. `bits` is the
/// size of the real numbers that are computed with.
void place_roofline(Figures& figures, double roofline_ns, int bits);

Explanation explain(const Figures& figures);

/// Why one of two is faster. Where a re-rank timed both in turn, its rounds say how much.
struct Faster {
  std::string headline;  // "the first is 1.31 times as fast [1.30, 1.32]: 7.664 us and 10.04 us"
  /// What the difference is made of, the largest first: "last wave: 5.1 us | 0.2 us".
  std::vector<std::string> because = {};
};
Faster why_faster(const Figures& before, const Explanation& of_before, const Figures& after,
                  const Explanation& of_after);

/// The headline, then each cause with its figures, what may lie behind, and what is missing.
std::string explain_text(const Figures& figures, const Explanation& explanation,
                         const Terminal& terminal = {});
nlohmann::ordered_json explain_json(const Figures& figures, const Explanation& explanation);

/// Which of two is faster, what of their explanations differs, and which figures.
std::string faster_text(const Figures& before, const Figures& after, const Terminal& terminal = {});
nlohmann::ordered_json faster_json(const Figures& before, const Figures& after);

/// What limits and losses are called.
namespace cause {
inline constexpr std::string_view kMemory = "memory", kL2 = "L2", kTraffic = "extra traffic",
                                  kTensor = "tensor cores", kArithmetic = "arithmetic",
                                  kRoofline = "roofline", kIssue = "instructions",
                                  kInteger = "integers and logic", kSpecial = "special functions",
                                  kShared = "shared memory", kL1 = "L1", kAtomics = "atomics",
                                  kLaunches = "launches", kFewBlocks = "too few blocks",
                                  kLastWave = "last wave", kWaitMemory = "waiting for memory",
                                  kWaitAtomics = "waiting for atomics",
                                  kWaitShared = "waiting for shared memory",
                                  kWaitBarrier = "waiting at barriers",
                                  kWaitMath = "waiting for arithmetic units",
                                  kWaitDependency = "waiting for results";
}  // namespace cause

// Less than this share of the time is not worth a word.
inline constexpr double kWorthSaying = 0.01;
// What was counted and is less than this has no part in the time.
inline constexpr double kHarmless = 0.1;

/// What each rule says of the figures: limits, losses and waits with their share of the time, as if
/// each were alone, and hints. Some need the time, and say nothing without it.
std::vector<Cause> causes_of(const Figures& figures);

}  // namespace assay
