#include "report/tuned_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/counters.h"
#include "base/find_named.h"
#include "report/entry_json.h"
#include "report/table.h"
#include "report/trials_view.h"

namespace assay {
namespace {

const std::string kScreened = "screened only, not re-ranked";

std::string interval_text(const Interval& time_ns) {
  if (!std::isfinite(time_ns.low) || !std::isfinite(time_ns.high) || time_ns.high <= 0) return "-";
  std::string low = format_time(time_ns.low);
  const std::string high = format_time(time_ns.high);
  // One unit is enough where both have the same.
  const std::string unit = high.substr(high.find(' '));
  if (low.ends_with(unit)) low.erase(low.size() - unit.size());
  return fmt::format("{} .. {}", low, high);
}

/// When the winner was verified, or what failed.
std::string verified_text(const std::optional<Verification>& verification) {
  if (!verification) return "-";
  if (const VerificationCheck* failure = verification->failure()) return "no: " + failure->name;
  const auto& checks = verification->checks;
  const auto passed = std::ranges::count(checks, CheckResult::passed, &VerificationCheck::result);
  const std::string date = verification->finished_at.substr(0, 10);
  if (passed == std::ssize(checks)) return date;
  return fmt::format("{}, {} of {} checks", date, passed, checks.size());
}

std::string value_text(const Achieved& by) {
  if (by.objective == "time") return format_time(by.value.value);
  if (by.objective == "energy") return format_energy(by.value.value);
  const std::string metric = by.objective.substr(expression_begin(by.objective));
  const CounterRow* const counter = find_named(counters(), metric);
  if (counter == nullptr) return fmt::format("{:.4g}", by.value.value);
  return measurement_text({metric, by.value.value, std::string(counter->unit)});
}

/// Of one problem: each configuration of its Pareto list, with its objectives and the ratios to the
/// winner.
std::string front_text(const TunedRow& entry, const ConfigTexts& texts, const Terminal& terminal) {
  std::vector<std::string> headers{"kernel", "configuration"};
  for (const Achieved& by : entry.front.front().achieved) {
    headers.push_back('>' + by.objective);
    headers.push_back(">of the winner's");
  }
  Table out(std::move(headers));
  for (const FrontRow& one : entry.front) {
    const bool is_winner = &one == &entry.front.front();
    std::vector<std::string> cells{one.choice.kernel, texts.line(one.choice)};
    for (const Achieved& by : one.achieved) {
      cells.push_back(value_text(by));
      const Interval& ratio = by.ratio_to_winner;
      const bool is_exact = ratio.low == ratio.high;
      cells.push_back(format_ratio(is_exact ? Interval{ratio.value} : ratio));
    }
    out.add_row(std::move(cells), is_winner ? Style::good : Style::plain);
  }
  return fmt::format("\nPareto list of {}, the winner first:\n{}", to_text(entry.problem),
                     out.text(terminal));
}

ConfigTexts config_texts(const TunedTable& table, const BestLayout& options) {
  std::vector<KernelConfig> shown;
  for (const TunedRow& entry : table.entries) {
    shown.push_back(entry.best);
    for (const FrontRow& one : entry.front) shown.push_back(one.choice);
    if (options.ties) shown.insert(shown.end(), entry.ties.begin(), entry.ties.end());
  }
  return ConfigTexts(shown, options.wide);
}

/// The one baseline that every entry with a baseline was compared with, or "".
std::string common_baseline(const TunedTable& table) {
  std::string name;
  for (const TunedRow& entry : table.entries) {
    if (entry.baseline.empty()) continue;
    if (!name.empty() && name != entry.baseline) return "";
    name = entry.baseline;
  }
  return name;
}

std::string measured_of(const TunedRow& entry) {
  return measured_text(entry.provenance, entry.finished_at);
}

/// Where and when every entry was measured, or "" where they differ.
std::string common_measured(const TunedTable& table) {
  const std::string first = measured_of(table.entries.front());
  const bool all = std::ranges::all_of(table.entries,
                                       [&](const TunedRow& e) { return measured_of(e) == first; });
  return all ? first : "";
}

std::string table_text(const TunedTable& table, const BestLayout& options) {
  const ConfigTexts texts = config_texts(table, options);
  const std::string baseline = common_baseline(table);
  const std::string measured = common_measured(table);
  const bool has_metric = expression_begin(table.objective.text()) > 0;
  const bool has_energy = table.objective.reads("energy_j");
  Table out({"problem", "kernel", "configuration", ">time", ">95 % interval",
             "?>vs " + (baseline.empty() ? "baseline" : baseline), "?baseline", "?>energy",
             "?>metric", "?>roofline", "?>noise", "?>memory", "?>the baseline's", "?prepared",
             "?verified", ">ties", measured.empty() ? "?measured" : "?"});
  for (const TunedRow& entry : table.entries) {
    const auto bytes = [&](bool is_shown, std::int64_t count) {
      return is_shown && count > 0 ? format_bytes(count) : "-";
    };
    const auto& prepared = entry.prepared;
    std::string remark = measured.empty() ? measured_of(entry) : "";
    if (!entry.reranked) remark += (remark.empty() ? "" : "; ") + kScreened;
    const bool is_wrong = entry.verification && entry.verification->failure() != nullptr;
    out.add_row(
        {to_text(entry.problem), entry.best.kernel, texts.line(entry.best),
         format_time(entry.time_ns.value), interval_text(entry.time_ns),
         entry.baseline.empty() ? "-" : format_ratio(entry.speedup),
         baseline.empty() ? entry.baseline : "",
         has_energy && entry.energy_j > 0 ? format_energy(entry.energy_j) : "-",
         has_metric && !entry.front.empty() ? value_text(entry.front[0].achieved[0]) : "-",
         entry.roofline_ns > 0 ? format_percent(entry.roofline_ratio()) : "-",
         entry.noise_ratio > 0 ? fmt::format("{:.2f} %", entry.noise_ratio * 100) : "-",
         bytes(options.wide, entry.memory_bytes), bytes(options.wide, entry.baseline_memory_bytes),
         prepared ? format_bytes(prepared->bytes) + " in " + format_time(prepared->time_ns) : "-",
         verified_text(entry.verification),
         entry.reranked ? std::to_string(entry.ties.size()) : "-", std::move(remark)},
        is_wrong ? Style::failure : Style::plain);
  }
  const Terminal& terminal = options.terminal;
  std::string heading =
      fmt::format("{} on {}, {}", table.op, table.device.name, conditions_text(table));
  if (!measured.empty())
    heading += (measured.starts_with("here") ? ", measured " : ", ") + measured;
  std::string text =
      folded_text(heading, terminal) + '\n' + out.text(terminal) + texts.notes(terminal);
  for (const TunedRow& entry : table.entries) {
    const bool several = !entry.front.empty() && entry.front[0].achieved.size() > 1;
    if (several) text += front_text(entry, texts, terminal);
  }
  if (!options.ties) return text;
  for (const TunedRow& entry : table.entries) {
    if (entry.ties.empty()) continue;
    text += fmt::format("ties of {}:\n", to_text(entry.problem));
    for (const KernelConfig& tie : entry.ties) {
      text += folded_text(fmt::format("  {}  {}", tie.kernel, texts.line(tie)), terminal);
    }
  }
  return text;
}

}  // namespace

std::string best_text(const std::vector<TunedTable>& tables, const BestLayout& options) {
  std::string text;
  for (const TunedTable& table : tables) {
    if (!text.empty()) text += '\n';
    text += table_text(table, options);
  }
  return text;
}

Json best_json(const std::vector<TunedTable>& tables) {
  Json best = Json::array();
  for (const TunedTable& table : tables) {
    for (const TunedRow& entry : table.entries) {
      Json object{{"op", table.op},
                  {"device", table.device.name},
                  {"protocol", table.protocol},
                  {"objective", to_text(table.objective)}};
      object.update(entry_json(entry));
      best.push_back(std::move(object));
    }
  }
  return best;
}

}  // namespace assay
