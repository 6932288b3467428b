// The largest limit comes first, and losses share out what it leaves, in the order of the rules.
// What is left then is not explained.
#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "base/find_named.h"
#include "report/table.h"

namespace assay {
namespace {

using namespace cause;
using Causes = std::vector<Cause>;

// From here on a configuration is at a limit. Products and copies of the libraries reach 0.8 to 1.
constexpr double kAtLimit = 0.7;
// A loss is the main cause if it takes so much of the time, and half of what the limit leaves.
constexpr double kMainLoss = 0.25;
// A limit that takes less than this is not what the time is made of.
constexpr double kMainLimit = 0.4;
// A part that does so much of what the whole does says more.
constexpr double kWhole = 0.9;
// SMs were seen to read 1.25 times what is measured of L2 (an H200, 16 MB read over and over).
constexpr double kSoftL2 = 0.8;
// Less than this may be noise.
constexpr double kUnexplained = 0.05;
// A launch takes a few us. It says nothing of what takes much longer.
constexpr double kShortNs = 50e3;

/// How a headline begins whose main cause this is.
std::string_view title_of(std::string_view main) {
  constexpr auto kTitles = std::to_array<std::pair<std::string_view, std::string_view>>({
      {kMemory, "memory-bound"},
      {kTraffic, "memory-bound, by more than must be moved"},
      {kL2, "L2-bound"},
      {kTensor, "tensor-bound"},
      {kArithmetic, "compute-bound"},
      {kRoofline, "at its roofline"},
      {kIssue, "instruction-bound"},
      {kInteger, "bound by integers and logic"},
      {kSpecial, "bound by special functions"},
      {kShared, "bound by shared memory"},
      {kL1, "L1-bound"},
      {kAtomics, "bound by atomics"},
      {kLaunches, "launch-bound"},
      {kFewBlocks, "too few blocks"},
      {kLastWave, "unevenly filled"},
      {kWaitMemory, "latency-bound"},
      {kWaitAtomics, "bound by atomics"},
      {kWaitShared, "bound by shared memory"},
      {kWaitBarrier, "bound by barriers"},
      {kWaitMath, "bound by its arithmetic units"},
      {kWaitDependency, "bound by dependent instructions"},
  });
  const std::string_view* const title = find_value(kTitles, main);
  return title != nullptr ? *title : main;
}

/// Puts the largest first, and keeps of two limits of one name the larger one. What all
/// instructions or all of L1 do comes behind a part of it that does nearly as much, and L2, whose
/// ceiling is not well known, behind what is nearly as near.
void order(Causes& limits) {
  const auto rank = [](const Cause& limit) {
    if (limit.name == kL2) return limit.share * kSoftL2;
    return limit.share * (limit.name == kIssue || limit.name == kL1 ? kWhole : 1);
  };
  std::ranges::stable_sort(limits, std::ranges::greater(), rank);
  std::set<std::string_view> seen;
  std::erase_if(limits, [&](const Cause& limit) { return !seen.insert(limit.name).second; });
}

/// Shares out what the limit leaves. Waits share what is left then, in their proportion.
double share_out(double left, Causes& losses) {
  double waiting = 0;
  for (const Cause& loss : losses) waiting += loss.kind == CauseKind::wait ? loss.share : 0;
  double for_waits = 0;
  for (Cause& loss : losses) {
    if (loss.kind == CauseKind::wait) {
      // They come last.
      if (for_waits == 0) for_waits = left;
      const double share = for_waits * loss.share / std::max(1.0, waiting);
      loss.share = share;
      left -= share;
      continue;
    }
    if (loss.name == kFewBlocks || loss.name == kLastWave) {
      loss.phrase = fmt::format("up to {} {}{}", format_percent(std::min(loss.share, left)),
                                loss.name == kFewBlocks ? "lost since " : "", loss.phrase);
    }
    loss.share = std::min(loss.share, left);
    left -= loss.share;
  }
  return std::max(0.0, left);
}

void find_missing(const Figures& figures, std::vector<MissingFigure>& missing) {
  const bool is_timed = figures.time_ns.value > 0;
  if (!is_timed) {
    missing.push_back({"the time, and its share of what the GPU can do", "assay sweep"});
  }
  const bool has_work = figures.bytes > 0 || figures.flops > 0;
  if (is_timed && has_work && figures.memory_ns <= 0 && figures.operations_ns <= 0) {
    missing.push_back({"what this GPU can do at most", "assay doctor, on that GPU"});
  } else if (is_timed && has_work && figures.launches_ns <= 0 &&
             figures.time_ns.value < kShortNs * static_cast<double>(figures.launches.size())) {
    missing.push_back({"how long launches take that do nothing", "assay doctor, on that GPU"});
  }
  if (!figures.findings) {
    missing.push_back(
        {has_work ? "the code" : "the work, the launches and the code", figures.no_code});
  }
  if (!figures.profile_command.empty()) {
    if (figures.counters.empty()) {
      missing.push_back({"what the GPU moves and what warps wait for", figures.profile_command});
      return;
    }
    constexpr std::pair<std::string_view, std::string_view> kSets[] = {
        {"memory", "dram_read"}, {"compute", "issue_busy"}, {"stalls", "stalled_memory"}};
    for (const auto& [set, name] : kSets) {
      if (figures.counter(name)) continue;
      missing.push_back({fmt::format("the counters of the set {}", set),
                         fmt::format("{} --set {}", figures.profile_command, set)});
    }
  }
}

/// "one explanation: spills" of the main cause. What is left over may have reasons that no figure
/// shows, too.
std::string names_of(const Causes& causes, bool of_main) {
  std::vector<std::string_view> names;
  for (const Cause& cause : causes) add_once(names, cause.name);
  const std::string list = fmt::format("{}", fmt::join(names, ", "));
  if (!of_main) return fmt::format("possible reason{}: {}", names.size() == 1 ? "" : "s", list);
  return names.size() == 1 ? "one explanation: " + list
                           : fmt::format("{} explanations remain: {}", names.size(), list);
}

std::string headline_of(const Explanation& explanation, const Causes& limits,
                        const Causes& losses) {
  std::vector<std::string> parts;
  const Cause* top = limits.empty() ? nullptr : &limits.front();
  const bool is_limit = top != nullptr && top->name == explanation.main;
  std::string title;
  if (explanation.main.empty()) {
    title = "not known";
  } else if (is_limit && top->share < kAtLimit) {
    title = fmt::format("{} {} nearest", top->name, top->name.ends_with("s") ? "come" : "comes");
  } else {
    title = title_of(explanation.main);
  }
  for (const Cause& loss : losses) {
    if (loss.name == explanation.main) parts.push_back(loss.phrase);
  }
  if (top != nullptr && top->share >= kWorthSaying) parts.push_back(top->phrase);
  for (const Cause& loss : losses) {
    if (loss.name != explanation.main && loss.share >= kWorthSaying &&
        loss.kind != CauseKind::wait) {
      parts.push_back(loss.phrase);
    }
  }
  if (explanation.unexplained >= kUnexplained) {
    parts.push_back(fmt::format("{} not explained", format_percent(explanation.unexplained)));
  }
  if (!explanation.behind.empty()) {
    const std::vector<std::string_view>& of = explanation.behind.front().of;
    const bool of_main = std::ranges::find(of, explanation.main) != of.end();
    parts.push_back(names_of(explanation.behind, of_main));
  }
  return fmt::format("{}: {}", title, fmt::join(parts, "; "));
}

}  // namespace

std::optional<double> Figures::counter(std::string_view name) const {
  const Measurement* const found = find_named(counters, name);
  return found != nullptr ? std::optional(found->value) : std::nullopt;
}

double Figures::warps_per_issue() const {
  // Each SM has four parts that issue.
  const auto occupancy = counter("occupancy"), issue = counter("issue_busy");
  const auto threads = sm_threads(cc);
  if (!occupancy || !issue || !threads || *issue <= 0) return 0;
  return *occupancy / *issue * static_cast<double>(*threads) / 32 / 4;
}

std::string_view to_text(CauseKind kind) {
  constexpr std::string_view kWords[] = {"limit", "loss", "wait", "hint"};
  return kWords[static_cast<std::size_t>(kind)];
}

Explanation explain(const Figures& figures) {
  Causes limits, losses, hints;
  const bool is_timed = figures.time_ns.value > 0;
  Explanation explanation;
  for (Cause& cause : causes_of(figures)) {
    if (cause.kind == CauseKind::hint) {
      hints.push_back(std::move(cause));
    } else if (is_timed) {
      (cause.kind == CauseKind::limit ? limits : losses).push_back(std::move(cause));
    } else if (cause.name == kFewBlocks || cause.name == kLastWave) {
      hints.push_back(std::move(cause));  // of the launch alone, whatever the time
    }
  }
  find_missing(figures, explanation.missing);
  if (!is_timed) {
    explanation.behind = std::move(hints);
    explanation.headline = explanation.behind.empty()
                               ? "not timed"
                               : "not timed; " + names_of(explanation.behind, false);
    return explanation;
  }

  order(limits);
  const double top = limits.empty() ? 0 : std::min(1.0, limits.front().share);
  // What was counted tells which hints cost nothing. At a limit warps wait for it, whatever for.
  const bool is_counted = figures.warps_per_issue() > 0;
  const auto is_wait = [](const Cause& loss) { return loss.kind == CauseKind::wait; };
  Causes waits;
  std::ranges::copy_if(losses, std::back_inserter(waits), is_wait);
  if (top >= kAtLimit) std::erase_if(losses, is_wait);
  explanation.unexplained = share_out(1 - top, losses);

  const auto largest = std::ranges::max_element(losses, {}, &Cause::share);
  if (top >= kAtLimit) {
    explanation.main = limits.front().name;
  } else if (largest != losses.end() && largest->share >= kMainLoss &&
             largest->share >= (1 - top) / 2) {
    explanation.main = largest->name;
  } else if (top >= kMainLimit) {
    explanation.main = limits.front().name;
  }

  for (Cause& hint : hints) {
    const auto names = [&](std::string_view name) {
      return std::ranges::find(hint.of, name) != hint.of.end();
    };
    const auto wait =
        std::ranges::find_if(waits, [&](const Cause& each) { return names(each.name); });
    if (!explanation.main.empty() && names(explanation.main)) {
      explanation.behind.push_back(std::move(hint));
    } else if (is_counted && wait != waits.end()) {
      const bool is_small = wait->share < kHarmless;
      if (is_small) hint.text += fmt::format("; {}", wait->phrase);
      if (is_small || top >= kAtLimit) {
        explanation.harmless.push_back(std::move(hint));
      } else if (explanation.main.empty()) {
        explanation.behind.push_back(std::move(hint));
      }
    } else if (explanation.unexplained >= (1 - kAtLimit) / 2) {
      explanation.behind.push_back(std::move(hint));
    }
  }
  explanation.headline = headline_of(explanation, limits, losses);
  explanation.causes = std::move(limits);
  std::ranges::move(losses, std::back_inserter(explanation.causes));
  std::erase_if(explanation.causes, [](const Cause& cause) { return cause.share < kWorthSaying; });
  std::ranges::stable_sort(explanation.causes, std::ranges::greater(), &Cause::share);
  return explanation;
}

}  // namespace assay
