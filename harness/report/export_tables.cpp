// What people and their scripts read: whole tables, with all that is known of a winner.
#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "base/terminal.h"
#include "report/config_text.h"
#include "report/entry_json.h"
#include "report/export.h"
#include "report/table.h"

namespace assay {
namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

/// A figure that is 0 where it is not known.
std::string known(double value) { return value > 0 ? number(value) : ""; }

/// RFC 4180: a field with a comma or a quote stands in quotes, quotes doubled. A spreadsheet
/// computes what begins with one of `=+-@`; an apostrophe makes it text there. None of our numbers
/// is negative.
std::string field(const std::string& content) {
  std::string text = printable_line(content);
  if (!text.empty() && std::string_view("=+-@").find(text[0]) != std::string_view::npos) {
    text.insert(0, 1, '\'');
  }
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + '"';
}

/// The fields of a record, each behind the name of its column.
std::vector<std::pair<const char*, std::string>> fields_of(const TunedTable& table,
                                                           const TunedRow& row) {
  const bool is_compared = !row.baseline.empty(), is_bounded = is_compared && row.speedup.high > 0;
  return {{"op", table.op},
          {"device", table.device.name},
          {"protocol", table.protocol},
          {"problem", to_text(row.problem)},
          {"kernel", row.best.kernel},
          {"config", to_text(row.best.config)},
          {"time_ns", number(row.time_ns.value)},
          {"time_low_ns", number(row.time_ns.low)},
          {"time_high_ns", number(row.time_ns.high)},
          {"baseline", row.baseline},
          {"baseline_ns", is_compared ? number(row.baseline_ns) : ""},
          {"speedup", is_compared ? number(row.speedup.value) : ""},
          {"speedup_low", is_bounded ? number(row.speedup.low) : ""},
          {"speedup_high", is_bounded ? number(row.speedup.high) : ""},
          {"ties", std::to_string(row.ties.size())},
          {"runner_up_ratio", known(row.runner_up_ratio)},
          {"rounds", std::to_string(row.rounds)},
          {"arch", row.toolchain.arch},
          {"nvrtc", row.toolchain.nvrtc},
          {"driver", row.toolchain.driver},
          {"source_hash", row.version.source_hash},
          {"provenance", row.provenance},
          {"measured_at", row.finished_at},
          {"objective", std::string(to_text(table.objective))},
          {"roofline_ratio", known(row.roofline_ratio())},
          {"energy_j", known(row.energy_j)},
          {"cycles_speedup", known(row.cycles_speedup.value)},
          {"cycles_speedup_low", known(row.cycles_speedup.low)},
          {"cycles_speedup_high", known(row.cycles_speedup.high)},
          {"prepare_ns", row.prepared ? number(row.prepared->time_ns) : ""},
          {"prepared_bytes", row.prepared ? std::to_string(row.prepared->bytes) : ""},
          {"contract_hash", row.version.contract_hash},
          {"cubin_hash", row.cubin_hash},
          {"cublas", row.cublas},
          {"verified", !row.verification             ? ""
                       : row.verification->failure() ? "failed"
                                                     : "passed"},
          {"memory_bytes", row.memory_bytes > 0 ? std::to_string(row.memory_bytes) : ""},
          {"baseline_memory_bytes",
           row.baseline_memory_bytes > 0 ? std::to_string(row.baseline_memory_bytes) : ""}};
}

}  // namespace

std::string export_csv(const std::vector<TunedTable>& tables) {
  std::string text;
  for (const auto& [name, value] : fields_of({}, {}))
    text += (text.empty() ? "" : ",") + std::string(name);
  text += "\r\n";
  for (const TunedTable& table : tables) {
    for (const TunedRow& row : table.entries) {
      std::string record;
      for (const auto& [name, value] : fields_of(table, row)) record += ',' + field(value);
      text += record.substr(1) + "\r\n";
    }
  }
  return text;
}

std::string export_json(const std::vector<TunedTable>& tables) {
  Json list = Json::array();
  for (const TunedTable& table : tables) {
    list.push_back({{"op", table.op},
                    {"device", device_json(table.device)},
                    {"protocol", table.protocol},
                    {"objective", to_text(table.objective)},
                    {"fallback", table.fallback},
                    {"entries", json_list(table.entries, entry_json)}});
  }
  return document("tuned-table", {{"tables", std::move(list)}});
}

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
