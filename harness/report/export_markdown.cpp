#include <fmt/format.h>

#include "report/config_text.h"
#include "report/export.h"
#include "report/markup.h"
#include "report/table.h"

namespace assay {

std::string export_markdown(const std::vector<TunedTable>& tables) {
  std::string text;
  for (const TunedTable& table : tables) {
    text += fmt::format("{}### {} on {}, {}\n\n", text.empty() ? "" : "\n", markdown_cell(table.op),
                        markdown_cell(table.device.name), markdown_cell(conditions_text(table)));
    text +=
        "| problem | kernel | configuration | time | baseline | its time | speed-up [95 %] | "
        "roofline | ties | verified | measured |\n"
        "|---|---|---|---:|---|---:|---:|---:|---:|---|---|\n";
    for (const TunedRow& entry : table.entries) {
      const bool compared = !entry.baseline.empty();
      text += fmt::format(
          "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
          markdown_cell(to_text(entry.problem)), markdown_cell(entry.best.kernel),
          markdown_cell(to_text(entry.best.config)), format_time(entry.time_ns.value),
          compared ? markdown_cell(entry.baseline) : "-",
          compared ? format_time(entry.baseline_ns) : "-",
          compared ? format_ratio(entry.speedup) : "-",
          entry.roofline_ns > 0 ? format_percent(entry.roofline_ratio()) : "-", entry.ties.size(),
          !entry.verification             ? "no"
          : entry.verification->failure() ? "failed"
                                          : "yes",
          markdown_cell(measured_text(entry.provenance, entry.finished_at)));
    }
  }
  return text;
}

}  // namespace assay
