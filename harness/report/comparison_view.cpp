#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "report/entry_json.h"
#include "report/run_comparison.h"
#include "report/table.h"

namespace assay {
namespace {

/// "1.235 us"; "-" of 0, which stands for no time.
std::string time_text(double ns) { return ns > 0 ? format_time(ns) : "-"; }

std::string ratio_interval_text(const Interval& ratio) {
  if (!std::isfinite(ratio.low) || !std::isfinite(ratio.high)) return "-";
  return fmt::format("{:+.1f} .. {:+.1f}", (ratio.low - 1) * 100, (ratio.high - 1) * 100);
}

std::string view_text(const std::optional<Interval>& ratio) {
  return ratio ? change_text(ratio->value) : "-";
}

std::vector<std::string> row_of(const ComparedResult& result) {
  const Judgement judgement = result.judgement.value_or(Judgement{});
  const bool known = judgement.ratios.time.has_value();
  return {to_text(result.problem),
          std::string(to_text(result.fate)),
          change_text(result),
          known ? ratio_interval_text(judgement.ratio) : "-",
          view_text(judgement.ratios.time),
          view_text(judgement.ratios.cycles),
          time_text(result.before_ns),
          time_text(result.after_ns),
          remarks_text(result)};
}

Style style_of(Fate fate) {
  if (fate == Fate::slower || fate == Fate::failed) return Style::failure;
  if (fate == Fate::faster) return Style::good;
  return fate == Fate::same || fate == Fate::added ? Style::plain : Style::warning;
}

/// What changed beside the times, each once, with the number of results that it concerns.
std::map<std::string, int> stale_counts(const RunComparison& comparison) {
  std::map<std::string, int> counts;
  for (const ComparedResult& result : comparison.results) {
    for (const std::string& change : result.stale) ++counts[change];
  }
  return counts;
}

/// Adds NAME, NAME_low and NAME_high.
void add_interval(Json& json, const std::string& name, const std::optional<Interval>& ratio) {
  json[name] = ratio ? finite_or_null(ratio->value) : Json(nullptr);
  json[name + "_low"] = ratio ? finite_or_null(ratio->low) : Json(nullptr);
  json[name + "_high"] = ratio ? finite_or_null(ratio->high) : Json(nullptr);
}

void add_judgement(Json& json, const std::optional<Judgement>& known) {
  const Judgement judgement = known.value_or(Judgement{});
  add_interval(json, "ratio", known ? std::optional(judgement.ratio) : std::nullopt);
  add_interval(json, "time_ratio", judgement.ratios.time);
  add_interval(json, "cycles_ratio", judgement.ratios.cycles);
  add_interval(json, "baseline_ratio", judgement.ratios.yardstick);
  json["clock_ratio"] = known_or_null(judgement.clock_ratio);
  json["margin_ratio"] = finite_or_null(judgement.margin_ratio);
  json["q"] = judgement.q;
}

Json best_json(const std::optional<KernelConfig>& best, double time_ns) {
  if (!best) return nullptr;
  Json json = choice_json(*best);
  json["time_ns"] = known_or_null(time_ns);
  return json;
}

Json result_json(const RunComparison& comparison, const ComparedResult& result) {
  Json json = question_json(result);
  json.update({{"verdict", to_text(result.fate)},
               {"may_be_slower", result.fate == Fate::slower || result.may_be_slower()},
               {"reason", text_or_null(result.reason)},
               {"before", best_json(result.best_before, result.before_ns)},
               {"after", best_json(result.best_after, result.after_ns)},
               {"is_same_machine_code", result.identical},
               {"is_slower_code", comparison.is_slower_code(result)},
               {"is_other_winner", result.winner_changed},
               {"old_best", text_or_null(result.old_best)},
               {"old_best_ratio", known_or_null(result.old_best_ratio)},
               {"stale", result.stale}});
  add_judgement(json, result.judgement);
  return json;
}

constexpr std::size_t kMostMarkdownBytes = 60'000;

std::string markdown_row(const ComparedResult& result) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", markdown_cell(result.op),
                     markdown_cell(to_text(result.problem)), to_text(result.fate),
                     change_text(result), time_text(result.before_ns), time_text(result.after_ns),
                     markdown_cell(remarks_text(result)));
}

/// Those that hold the gate up come first, then in the order of Fate.
std::vector<const ComparedResult*> by_weight(const RunComparison& comparison,
                                             const Allowed& allowed) {
  std::vector<const ComparedResult*> results;
  for (const ComparedResult& result : comparison.results) {
    if (result.fate != Fate::same) results.push_back(&result);
  }
  std::ranges::stable_sort(results, {}, [&](const ComparedResult* result) {
    const Gate gate = gate_of(*result, allowed);
    return std::pair(gate == Gate::failed ? 0 : gate == Gate::undecided ? 1 : 2, result->fate);
  });
  return results;
}

}  // namespace

std::string change_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:+.1f} %", (ratio - 1) * 100) : "-";
}

std::string change_text(const ComparedResult& result) {
  if (!result.judgement || !result.judgement->ratios.time) return "-";
  return change_text(result.judgement->ratio.value);
}

std::string slower_code_text(const RunComparison& comparison) {
  std::set<std::string> changes;
  std::size_t num_slower = 0;
  double most = 1;
  for (const ComparedResult& result : comparison.results) {
    if (!comparison.is_slower_code(result)) continue;
    ++num_slower;
    most = std::max(most, result.judgement->ratios.time->value);
    changes.insert(result.stale.begin(), result.stale.end());
    if (!result.same_gpu) changes.insert("the GPU");
  }
  if (num_slower == 0) return "";
  return fmt::format(
      "same code, up to {:.1f} % slower in {} of {} results; what changed: {}", (most - 1) * 100,
      num_slower, comparison.results.size(),
      changes.empty() ? "nothing that is known" : fmt::format("{}", fmt::join(changes, ", ")));
}

std::string remarks_text(const ComparedResult& result) {
  std::string text = result.reason;
  const auto add = [&text](const std::string& remark) {
    text += (text.empty() ? "" : "; ") + remark;
  };
  if (result.winner_changed) add("winner changed");
  if (!result.old_best.empty()) add("old best now " + result.old_best);
  if (result.identical && result.reason.empty()) add("same machine code");
  if (!result.stale.empty()) add("stale");
  return text;
}

std::string summary_text(const RunComparison& comparison) {
  std::string text = fmt::format("{} result{}:", comparison.results.size(),
                                 comparison.results.size() == 1 ? "" : "s");
  const char* separator = " ";
  for (int i = 0; i <= static_cast<int>(Fate::added); ++i) {
    const auto fate = static_cast<Fate>(i);
    if (const int count = comparison.count(fate)) {
      text += fmt::format("{}{} {}", separator, count, to_text(fate));
      separator = ", ";
    }
  }
  const auto& results = comparison.results;
  const auto count_if = [&results](auto is) { return std::ranges::count_if(results, is); };
  const auto changed = count_if(&ComparedResult::winner_changed);
  const auto stale = count_if([](const ComparedResult& r) { return !r.stale.empty(); });
  if (changed > 0) text += fmt::format("; {} with another winner", changed);
  if (stale > 0) text += fmt::format("; {} stale", stale);
  text += fmt::format("; margin {:.3g} %", comparison.margin_ratio * 100);
  const RunNoise& noise = comparison.noise;
  if (noise.num_pairs > 0) {
    text += fmt::format(", noise between the runs {:.1f} % ({} A/A pairs)", noise.yardstick * 100,
                        noise.num_pairs);
  } else {
    text += fmt::format(", noise between the runs not known (taken as {:.1f} %)",
                        noise.yardstick * 100);
  }
  return text;
}

std::string comparison_text(const RunComparison& comparison, Shown shown,
                            const Terminal& terminal) {
  std::string text = fmt::format("before: {}\nafter:  {}\n", comparison.before, comparison.after);
  const auto& results = comparison.results;
  for (auto begin = results.begin(); begin != results.end();) {
    const std::string heading = heading_text(*begin);
    const auto end = std::find_if(begin, results.end(), [&](const ComparedResult& result) {
      return heading_text(result) != heading;
    });
    Table table({"problem", "verdict", ">change", ">95 % interval", ">in time", ">in cycles",
                 ">before", ">after", "remarks"});
    for (; begin != end; ++begin) {
      if (shown == Shown::notable && begin->fate == Fate::same) continue;
      table.add_row(row_of(*begin), style_of(begin->fate));
    }
    if (!table.empty()) text += fmt::format("\n{}\n\n{}", heading, table.text(terminal));
  }
  const std::map<std::string, int> stale = stale_counts(comparison);
  if (!stale.empty()) text += "\nstale, since these changed:\n";
  for (const auto& [change, count] : stale) {
    text += fmt::format("  {} ({} of {} results)\n", change, count, results.size());
  }
  if (const std::string slower = slower_code_text(comparison); !slower.empty()) {
    text += '\n' + folded_text(slower, terminal);
  }
  return text + '\n' + folded_text(summary_text(comparison), terminal);
}

Json comparison_json(const RunComparison& comparison) {
  Json counts = Json::object();
  for (int i = 0; i <= static_cast<int>(Fate::added); ++i) {
    const auto fate = static_cast<Fate>(i);
    counts[std::string(to_text(fate))] = comparison.count(fate);
  }
  const RunNoise& noise = comparison.noise;
  return {{"before_run", comparison.before},
          {"after_run", comparison.after},
          {"margin_ratio", comparison.margin_ratio},
          {"noise",
           {{"num_pairs", noise.num_pairs},
            {"time_ratio", noise.time},
            {"cycles_ratio", noise.cycles},
            {"baseline_ratio", noise.yardstick}}},
          {"slower_code", text_or_null(slower_code_text(comparison))},
          {"verdicts", std::move(counts)},
          {"results", json_list(comparison.results, [&](const auto& result) {
             return result_json(comparison, result);
           })}};
}

std::string_view to_text(Gate gate) {
  constexpr std::array<std::string_view, 3> kWords{"passed", "failed", "undecided"};
  return kWords.at(static_cast<std::size_t>(gate));
}

Gate gate_of(const ComparedResult& result, const Allowed& allowed) {
  const Fate fate = result.fate;
  if (fate == Fate::slower || fate == Fate::failed) return Gate::failed;
  const bool decides_nothing =
      result.may_be_slower() || fate == Fate::gone || fate == Fate::not_comparable;
  return decides_nothing && !allowed.contains(fate) ? Gate::undecided : Gate::passed;
}

Gate gate_of(const RunComparison& comparison, const Allowed& allowed) {
  Gate worst = Gate::passed;
  for (const ComparedResult& result : comparison.results) {
    const Gate gate = gate_of(result, allowed);
    if (gate == Gate::failed) return gate;
    if (gate == Gate::undecided) worst = gate;
  }
  return worst;
}

std::string gate_markdown(const RunComparison& comparison, const Allowed& allowed) {
  std::string text =
      fmt::format("## assay gate: {}\n\n{} compared with {}\n\n{}\n",
                  to_text(gate_of(comparison, allowed)), markdown_cell(comparison.after),
                  markdown_cell(comparison.before), markdown_cell(summary_text(comparison)));
  const std::vector<const ComparedResult*> results = by_weight(comparison, allowed);
  if (!results.empty()) {
    text +=
        "\n| op | problem | verdict | change | before | after | remarks |\n"
        "|---|---|---|---:|---:|---:|---|\n";
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string row = markdown_row(*results[i]);
    if (text.size() + row.size() > kMostMarkdownBytes) {
      text += fmt::format("\n{} more are not shown.\n", results.size() - i);
      break;
    }
    text += row;
  }
  if (const std::string slower = slower_code_text(comparison); !slower.empty()) {
    text += fmt::format("\n{}\n", markdown_cell(slower));
  }
  const auto stale = stale_counts(comparison);
  if (!stale.empty()) text += "\nStale, since these changed:\n\n";
  for (const auto& [change, count] : stale) {
    const std::string line = fmt::format("- {} ({} results)\n", markdown_cell(change), count);
    if (text.size() + line.size() < kMostMarkdownBytes + 2000) text += line;
  }
  return text;
}

std::string gate_junit(const RunComparison& comparison, const Allowed& allowed) {
  std::string cases;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  for (const ComparedResult& result : comparison.results) {
    const Gate gate = gate_of(result, allowed);
    const bool is_allowed = gate == Gate::passed && allowed.contains(result.fate);
    failures += gate == Gate::failed ? 1 : 0;
    errors += gate == Gate::undecided ? 1 : 0;
    skipped += is_allowed ? 1 : 0;
    cases += fmt::format("  <testcase classname=\"{}.{}.{}\" name=\"{}\"", xml_text(result.op),
                         xml_text(result.device.name), xml_text(result.protocol),
                         xml_text(to_text(result.problem)));
    if (gate == Gate::passed && !is_allowed) {
      cases += "/>\n";
      continue;
    }
    const std::string_view tag = gate == Gate::failed      ? "failure"
                                 : gate == Gate::undecided ? "error"
                                                           : "skipped";
    const std::string remarks = remarks_text(result);
    cases += fmt::format(">\n    <{} message=\"{} {}{}{}\"/>\n  </testcase>\n", tag,
                         to_text(result.fate), change_text(result), remarks.empty() ? "" : "; ",
                         xml_text(remarks));
  }
  const std::string slower = slower_code_text(comparison);
  if (!slower.empty()) {
    cases += fmt::format("  <system-out>{}</system-out>\n", xml_text(slower));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"assay gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n"
      "{}</testsuite>\n",
      comparison.results.size(), failures, errors, skipped, cases);
}

std::string gate_json(const RunComparison& comparison, const Allowed& allowed) {
  Json json{{"gate", to_text(gate_of(comparison, allowed))}};
  json.update(comparison_json(comparison));
  return document("gate", json);
}

}  // namespace assay
