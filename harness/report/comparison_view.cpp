#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/entry_json.h"
#include "report/run_comparison.h"
#include "report/table.h"

namespace assay {
namespace {

std::string ratio_interval_text(const Interval& ratio) {
  if (!std::isfinite(ratio.low) || !std::isfinite(ratio.high)) return "-";
  return fmt::format("{:+.1f} .. {:+.1f}", (ratio.low - 1) * 100, (ratio.high - 1) * 100);
}

std::string view_text(const std::optional<Interval>& ratio) {
  return ratio ? change_text(ratio->value) : "-";
}

std::vector<std::string> row_of(const ComparedResult& result) {
  const Judgement none;
  const Judgement& judgement = result.judgement ? *result.judgement : none;
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

std::string stale_text(const RunComparison& comparison) {
  std::string text;
  for (const auto& [change, count] : stale_counts(comparison)) {
    text += fmt::format("  {} ({} of {} results)\n", change, count, comparison.results.size());
  }
  return text.empty() ? "" : "stale, since these changed:\n" + text;
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

}  // namespace

std::string time_text(double ns) { return ns > 0 ? format_time(ns) : "-"; }

std::string change_text(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:+.1f} %", (ratio - 1) * 100) : "-";
}

std::string change_text(const ComparedResult& result) {
  if (!result.judgement || !result.judgement->ratios.time) return "-";
  return change_text(result.judgement->ratio.value);
}

std::map<std::string, int> stale_counts(const RunComparison& comparison) {
  std::map<std::string, int> counts;
  for (const ComparedResult& result : comparison.results) {
    for (const std::string& change : result.stale) ++counts[change];
  }
  return counts;
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
    bool any = false;
    for (; begin != end; ++begin) {
      if (shown == Shown::notable && begin->fate == Fate::same) continue;
      table.add_row(row_of(*begin), style_of(begin->fate));
      any = true;
    }
    if (any) text += fmt::format("\n{}\n\n{}", heading, table.text(terminal));
  }
  const std::string stale = stale_text(comparison);
  if (!stale.empty()) text += '\n' + stale;
  if (const std::string slower = slower_code_text(comparison); !slower.empty()) {
    text += '\n' + folded_text(slower, terminal);
  }
  return text + '\n' + folded_text(summary_text(comparison), terminal);
}

Json comparison_object(const RunComparison& comparison) {
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

std::string comparison_json(const RunComparison& comparison) {
  return document("compare", comparison_object(comparison));
}

}  // namespace assay
