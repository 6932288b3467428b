// Each rule reads figures and says what one thing costs, or nothing if a figure is missing.
#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/find_named.h"
#include "report/table.h"

namespace assay {
namespace {

using namespace cause;
using Causes = std::vector<Cause>;

// Above so many of its threads an SM has seldom too few to hide what they wait for.
constexpr double kLowOccupancy = 0.4;
// The caches bring more than what must be moved, in lines: up to a quarter is usual.
constexpr double kExtraTraffic = 1.25;

// An H200 adds to one address once in so many cycles. To others beside it, once in each.
constexpr double kOneAddressCycles = 3.5;
// From here on a part of L2 has time for nothing but atomics.
constexpr double kFullOfAtomics = 0.7;

// Limits.

/// Work can do more than what was measured of the device: that was large work, at another clock.
std::string of_ceiling(double share, std::string_view does) {
  if (share <= 1.05) return fmt::format("{} of what this GPU {}", format_percent(share), does);
  return fmt::format("all that this GPU {} ({} of its measured ceiling)", does,
                     format_percent(share));
}

void say_memory(const Figures& figures, Causes& causes) {
  if (figures.memory_ns <= 0) return;
  const double share = figures.memory_ns / figures.time_ns.value;
  const std::string_view from = figures.from_l2 ? " from L2" : "";
  causes.push_back(
      {CauseKind::limit, figures.from_l2 ? kL2 : kMemory, share,
       of_ceiling(share, fmt::format("reads{}", from)),
       fmt::format("the {} that must be moved take {} at the rate at which this GPU reads{}",
                   format_bytes(figures.bytes), format_time(figures.memory_ns), from)});
}

void say_traffic(const Figures& figures, Causes& causes) {
  const auto read = figures.counter("dram_read"), written = figures.counter("dram_write");
  if (!read || !written || figures.bytes <= 0 || figures.from_l2) return;
  const double moved = *read + *written, times = moved / figures.bytes;
  if (times < kExtraTraffic || figures.memory_ns <= 0) return;
  const double moved_ns = figures.memory_ns * times, share = moved_ns / figures.time_ns.value;
  causes.push_back(
      {CauseKind::limit, kTraffic, share,
       fmt::format("{}, {:.3g} times what must be moved", of_ceiling(share, "reads"), times),
       fmt::format("{} came from memory or went there, {:.3g} times the {} that must be moved: at "
                   "the rate at which this GPU reads that takes {}",
                   format_bytes(moved), times, format_bytes(figures.bytes),
                   format_time(moved_ns))});
}

void say_operations(const Figures& figures, Causes& causes) {
  if (figures.operations_ns <= 0) return;
  const double share = figures.operations_ns / figures.time_ns.value;
  const std::string_view name = figures.on_tensor_cores ? kTensor : kArithmetic;
  const std::string_view does =
      figures.on_tensor_cores ? "multiplies on its tensor cores" : "computes without tensor cores";
  causes.push_back(
      {CauseKind::limit, name, share, of_ceiling(share, does),
       fmt::format("the {} take {} at the rate at which this GPU {}",
                   format_rate(figures.flops, "FLOP"), format_time(figures.operations_ns), does)});
}

void say_roofline(const Figures& figures, Causes& causes) {
  if (figures.roofline_ns <= 0 || figures.memory_ns > 0 || figures.operations_ns > 0) return;
  const double share = figures.roofline_ns / figures.time_ns.value;
  causes.push_back({CauseKind::limit, kRoofline, share,
                    fmt::format("{} of what this GPU allows", format_percent(share)),
                    fmt::format("the ceilings of this GPU allow {}; whether its memory or its "
                                "arithmetic sets that is not stored",
                                format_time(figures.roofline_ns))});
}

void say_l2(const Figures& figures, Causes& causes) {
  const auto bytes = figures.counter("l2_to_sm");
  if (!bytes || figures.l2_bytes_per_s <= 0) return;
  const double least_ns = *bytes / figures.l2_bytes_per_s * 1e9;
  const double share = least_ns / figures.time_ns.value;
  causes.push_back({CauseKind::limit, kL2, share, of_ceiling(share, "reads from L2"),
                    fmt::format("{} went from L2 to SMs, which takes {} at the rate at which this "
                                "GPU reads from L2",
                                format_bytes(*bytes), format_time(least_ns))});
}

/// What of the time SMs work, on average; 1 where it is not counted.
double working_share(const Figures& figures) {
  const auto cycles = figures.counter("sm_cycles");
  const double all = figures.time_ns.value * figures.clock_mhz * 1e-3;
  return cycles && all > 0 ? std::min(1.0, *cycles / all) : 1;
}

/// A unit of an SM, and how much of the time that SMs work it does, too.
struct Unit {
  std::string_view counter;
  std::string_view name;
  std::string_view work;
};
constexpr Unit kSmUnits[] = {
    {"tensor_busy", kTensor, "tensor cores work"},
    {"fma_busy", kArithmetic, "the units for multiply-adds work"},
    {"integer_busy", kInteger, "the units for integers and logic work"},
    {"special_busy", kSpecial, "the units for special functions work"},
    {"shared_busy", kShared, "shared memory works"},
    {"l1_busy", kL1, "L1 works"},
    {"issue_busy", kIssue, "an instruction is issued in"},
};

/// Those that are counted as a share of the time, and need no ceiling.
void say_busy(const Figures& figures, Causes& causes) {
  const double working = working_share(figures);
  for (const Unit& unit : kSmUnits) {
    const auto busy = figures.counter(unit.counter);
    if (!busy || *busy <= 0) continue;
    const double share = *busy / 100 * working;
    const std::string of = unit.name == kIssue ? "the places for one" : "the time";
    std::string text = fmt::format("{} {:.0f} % of {} while SMs work", unit.work, *busy, of);
    if (working < 1 - kWorthSaying) {
      text += fmt::format(", which they do for {}", format_percent(working));
    }
    causes.push_back({CauseKind::limit, unit.name, share,
                      fmt::format("{} {:.0f} % of {}", unit.work, 100 * share, of),
                      std::move(text)});
  }
}

/// How much of the time that part of L2 which has most atomics begins one.
double atomics_share(const Figures& figures) {
  const double all = figures.time_ns.value * figures.clock_mhz * 1e-3;
  return all > 0 ? figures.counter("l2_atomic_cycles").value_or(0) / all : 0;
}

void say_atomics(const Figures& figures, Causes& causes) {
  const double share = atomics_share(figures);
  if (share <= 0) return;
  causes.push_back({CauseKind::limit, kAtomics, share,
                    fmt::format("a part of L2 begins an atomic operation in {} of all cycles",
                                format_percent(share)),
                    fmt::format("that part of L2 which has most atomics begins one in {:.4g} "
                                "cycles; on one address, an H200 does so once in {}",
                                *figures.counter("l2_atomic_cycles"), kOneAddressCycles)});
}

// Losses.

void say_launches(const Figures& figures, Causes& causes) {
  const std::size_t count = figures.launches.size();
  if (figures.launches_ns <= 0) {
    const double each_ns = figures.time_ns.value / static_cast<double>(count);
    if (count < 2 || each_ns <= 0) return;
    const LaunchFigures& first = figures.launches.front();
    bool overlap = false, is_alike = true;
    for (const LaunchFigures& launch : figures.launches) {
      overlap = overlap || launch.is_early;
      is_alike = is_alike && launch.entry == first.entry && launch.blocks == first.blocks;
    }
    std::string text = fmt::format("{} launches, {}", count,
                                   overlap ? "which may overlap" : "one after the other");
    if (is_alike && !overlap) text += fmt::format(", of {} each on average", format_time(each_ns));
    if (figures.memory_ns > 0 && is_alike) {
      text += fmt::format("; if each moves all that must be moved, that takes {}",
                          format_time(figures.memory_ns * static_cast<double>(count)));
    }
    causes.push_back({CauseKind::hint, kLaunches, 0, "", std::move(text)});
    return;
  }
  const double share = figures.launches_ns / figures.time_ns.value;
  const std::string launches = count == 1 ? "a launch" : fmt::format("{} launches", count);
  causes.push_back(
      {CauseKind::loss, kLaunches, share,
       fmt::format("{} is the time of {} that {} nothing", format_percent(share), launches,
                   count == 1 ? "does" : "do"),
       fmt::format("{} that {} nothing take{} {}", launches, count == 1 ? "does" : "do",
                   count == 1 ? "s" : "", format_time(figures.launches_ns))});
}

std::string blocks_text(std::int64_t count) {
  return fmt::format("{} block{}", count, count == 1 ? "" : "s");
}

/// What a launch leaves idle of the device, by its number of blocks.
std::optional<Cause> idle_of(const Figures& figures, const LaunchFigures& launch) {
  const auto sms = static_cast<double>(figures.sm_count),
             blocks = static_cast<double>(launch.blocks);
  if (sms <= 0 || blocks <= 0) return std::nullopt;
  if (blocks < sms) {
    const double share = 1 - blocks / sms;
    return Cause{CauseKind::loss, kFewBlocks, share,
                 fmt::format("{} of {} SMs have no block", figures.sm_count - launch.blocks,
                             figures.sm_count),
                 fmt::format("{} has {} for {} SMs", launch.entry, blocks_text(launch.blocks),
                             figures.sm_count)};
  }
  const double places = launch.occupancy ? launch.occupancy->blocks * sms : 0;
  if (places > 0 && blocks > places) {
    const double waves = blocks / places;
    return Cause{
        CauseKind::loss, kLastWave, 1 - waves / std::ceil(waves),
        fmt::format("lost in the last wave ({:.2f} waves)", waves),
        fmt::format("{} has {} blocks, of which {:.0f} run at once: {:.2f} waves, of which "
                    "the last is not full",
                    launch.entry, launch.blocks, places, waves)};
  }
  const double turns = std::ceil(blocks / sms);
  return Cause{
      CauseKind::loss, kLastWave, 1 - blocks / sms / turns,
      fmt::format("lost since some SMs have {:.0f} blocks and others {:.0f}", turns, turns - 1),
      fmt::format("{} has {} blocks for {} SMs: some have {:.0f}, and others {:.0f}", launch.entry,
                  launch.blocks, figures.sm_count, turns, turns - 1)};
}

void say_idle(const Figures& figures, Causes& causes) {
  for (const LaunchFigures& launch : first_launches(figures.launches)) {
    std::optional<Cause> idle = idle_of(figures, launch);
    if (!idle || idle->share < kWorthSaying) continue;
    if (figures.launches.size() > 1) {
      // How the time divides among them is not known.
      idle->kind = CauseKind::hint;
      idle->text += fmt::format(": up to {} of its time is lost", format_percent(idle->share));
      if (idle->share < kHarmless) continue;
      idle->share = 0;
    }
    causes.push_back(std::move(*idle));
  }
}

struct Wait {
  std::string_view counter;
  std::string_view queue;  // a counter of those that wait to ask for it
  std::string_view name;
  std::string_view what;
};
constexpr Wait kWaits[] = {
    {"stalled_memory", "stalled_memory_queue", kWaitMemory, "for L2 or memory"},
    {"stalled_shared", "stalled_shared_queue", kWaitShared, "for shared memory"},
    {"stalled_barrier", "", kWaitBarrier, "at a barrier"},
    {"stalled_math", "", kWaitMath, "for a unit that computes"},
    {"stalled_dependency", "", kWaitDependency, "for the result of the instruction before"},
};

void say_waits(const Figures& figures, Causes& causes) {
  const double warps = figures.warps_per_issue();
  if (warps <= 0) return;
  for (const Wait& wait : kWaits) {
    const auto counted = figures.counter(wait.counter);
    if (!counted) continue;
    const double stalled = *counted + figures.counter(wait.queue).value_or(0);
    const double share = std::min(1.0, stalled / warps);
    const bool is_atomics =
        wait.name == kWaitMemory && atomics_share(figures) * kOneAddressCycles >= kFullOfAtomics;
    causes.push_back(
        {CauseKind::wait, is_atomics ? kWaitAtomics : wait.name, share,
         fmt::format("warps wait {} {} of their time", wait.what, format_percent(share)),
         fmt::format("for each instruction that is issued there are {:.3g} warps, of "
                     "which {:.3g} wait {}",
                     warps, stalled, wait.what)});
  }
}

// Hints.

void add_hint(Causes& causes, std::string_view name, std::string text,
              std::vector<std::string_view> of = {}) {
  causes.push_back({CauseKind::hint, name, 0, "", std::move(text), std::move(of)});
}

void say_occupancy(const Figures& figures, Causes& causes) {
  // Copies that run beside the threads need few of them.
  if (figures.findings && find_named(*figures.findings, "copies")) return;
  if (figures.sm_count <= 0) return;
  for (const LaunchFigures& launch : first_launches(figures.launches)) {
    if (!launch.occupancy || launch.occupancy->blocks <= 0) continue;
    const std::int64_t of_grid = (launch.blocks + figures.sm_count - 1) / figures.sm_count;
    const bool is_grid = of_grid < launch.occupancy->blocks;
    const double blocks = is_grid ? static_cast<double>(of_grid) : launch.occupancy->blocks;
    const double ratio = launch.occupancy->ratio * blocks / launch.occupancy->blocks;
    if (ratio >= kLowOccupancy) continue;
    std::string why = fmt::format("{} allow no more", launch.occupancy->limit);
    if (launch.occupancy->limit == "shared memory") why = "shared memory allows no more";
    if (is_grid) {
      why = fmt::format("there are {} for {} SMs", blocks_text(launch.blocks), figures.sm_count);
    }
    add_hint(causes, "low occupancy",
             fmt::format("{}: an SM has {} of {} threads at once, {} of what it can hold: {}",
                         launch.entry, blocks_text(std::llround(blocks)), launch.threads,
                         format_percent(ratio), why),
             {kWaitMemory, kWaitDependency});
  }
}

void say_spills(const Figures& figures, Causes& causes) {
  if (!figures.report || figures.report->spill_bytes == 0) return;
  add_hint(causes, "spills",
           fmt::format("the compiler keeps values in memory that {} registers a thread "
                       "have no room for: {} bytes of code that stores or loads them",
                       figures.report->registers, figures.report->spill_bytes),
           {kWaitMemory, kTraffic, kL1, kL2});
}

/// What `inspect` finds in the code, and what it would cost.
struct CodeHint {
  std::string_view finding;
  std::vector<std::string_view> of;
};

void say_code(const Figures& figures, Causes& causes) {
  static const std::vector<CodeHint> kHints = {
      {"strided access", {kTraffic, kL2, kL1, kWaitMemory}},
      {"narrow accesses", {kL1, kIssue}},
      {"dependent loads", {kWaitMemory}},
      {"atomics", {kAtomics, kWaitAtomics, kWaitMemory, kWaitShared, kL2}},
      {"local memory", {kWaitMemory, kTraffic, kL1, kL2}},
      {"bank conflicts", {kShared, kWaitShared}},
      {"conversions", {kIssue, kSpecial}},
  };
  if (!figures.findings) return;
  for (const CodeHint& hint : kHints) {
    for (const CodeFinding& finding : *figures.findings) {
      if (finding.name != hint.finding) continue;
      add_hint(causes, hint.finding, finding.text, hint.of);
    }
  }
}

void say_conflicts(const Figures& figures, Causes& causes) {
  const auto conflicts = figures.counter("bank_conflicts");
  const auto instructions = figures.counter("instructions");
  if (!conflicts || !instructions || *instructions <= 0) return;
  const double each = *conflicts / *instructions;
  if (each < kHarmless) return;
  add_hint(causes, "bank conflicts",
           fmt::format("{:.4g} were counted, {:.2g} for each instruction", *conflicts, each),
           {kShared, kWaitShared});
}

using Rule = void (*)(const Figures&, Causes&);
constexpr Rule kRules[] = {
    say_memory,   say_traffic, say_operations, say_roofline,  say_l2,     say_busy, say_atomics,
    say_launches, say_idle,    say_waits,      say_occupancy, say_spills, say_code, say_conflicts,
};

}  // namespace

void place_roofline(Figures& figures, double roofline_ns, int bits) {
  /// Operations that an SM does in a clock, two for a multiply-add; of 16 bits, and of 64 where
  /// there are such, on tensor cores. NVIDIA's white papers of the architectures.
  struct Peak {
    int cc;
    double of_64, of_32, of_16;
  };
  constexpr Peak kPeaks[] = {
      {80, 128, 128, 2048}, {86, 4, 256, 1024}, {89, 4, 256, 1024}, {90, 256, 256, 4096}};
  // What large products sustain is more than half of that, also where power holds the clock down.
  constexpr double kSustained = 0.5;
  figures.roofline_ns = roofline_ns;
  if (figures.flops <= 0) {
    if (figures.bytes > 0) figures.memory_ns = roofline_ns;
    return;
  }
  const auto* peak = std::ranges::find(kPeaks, figures.cc, &Peak::cc);
  if (roofline_ns <= 0 || peak == std::end(kPeaks)) return;
  if (figures.clock_mhz <= 0 || figures.sm_count <= 0) return;
  const double of_clock = bits == 64 ? peak->of_64 : bits == 32 ? peak->of_32 : peak->of_16;
  const double most_per_ns = figures.sm_count * figures.clock_mhz * 1e-3 * of_clock;
  const bool is_operations = figures.flops / roofline_ns >= kSustained * most_per_ns;
  (is_operations ? figures.operations_ns : figures.memory_ns) = roofline_ns;
}

std::vector<Cause> causes_of(const Figures& figures) {
  std::vector<Cause> causes;
  for (const Rule rule : kRules) rule(figures, causes);
  return causes;
}

}  // namespace assay
