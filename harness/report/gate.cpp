#include "report/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/entry_json.h"
#include "report/run_comparison.h"
#include "report/table.h"

namespace assay {
namespace {

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
  std::ranges::stable_sort(results, [&](const ComparedResult* a, const ComparedResult* b) {
    const auto weight = [&](const ComparedResult& result) {
      const Gate gate = gate_of(result, allowed);
      return std::pair(gate == Gate::failed ? 0 : gate == Gate::undecided ? 1 : 2, result.fate);
    };
    return weight(*a) < weight(*b);
  });
  return results;
}

std::string message_of(const ComparedResult& result) {
  std::string text = fmt::format("{} {}", to_text(result.fate), change_text(result));
  const std::string remarks = remarks_text(result);
  if (!remarks.empty()) text += "; " + remarks;
  return text;
}

}  // namespace

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
    cases += fmt::format(">\n    <{} message=\"{}\"/>\n  </testcase>\n", tag,
                         xml_text(message_of(result)));
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
  json.update(comparison_object(comparison));
  return document("gate", json);
}

}  // namespace assay
