#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/terminal.h"
#include "report/export.h"

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

std::string record(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) line += (i > 0 ? "," : "") + field(fields[i]);
  return line + "\r\n";
}

}  // namespace

std::string export_csv(const std::vector<TunedTable>& tables) {
  std::string text = record({"op",
                             "device",
                             "protocol",
                             "problem",
                             "kernel",
                             "config",
                             "time_ns",
                             "time_low_ns",
                             "time_high_ns",
                             "baseline",
                             "baseline_ns",
                             "speedup",
                             "speedup_low",
                             "speedup_high",
                             "ties",
                             "runner_up_ratio",
                             "rounds",
                             "arch",
                             "nvrtc",
                             "driver",
                             "source_hash",
                             "provenance",
                             "measured_at",
                             "objective",
                             "roofline_ratio",
                             "energy_j",
                             "cycles_speedup",
                             "cycles_speedup_low",
                             "cycles_speedup_high",
                             "prepare_ns",
                             "prepared_bytes",
                             "contract_hash",
                             "cubin_hash",
                             "cublas",
                             "verified"});
  for (const TunedTable& table : tables) {
    for (const TunedRow& entry : table.entries) {
      const bool compared = !entry.baseline.empty();
      const bool open = entry.speedup.high <= 0;
      text += record({table.op,
                      table.device.name,
                      table.protocol,
                      to_text(entry.problem),
                      entry.best.kernel,
                      to_text(entry.best.config),
                      number(entry.time_ns.value),
                      number(entry.time_ns.low),
                      number(entry.time_ns.high),
                      entry.baseline,
                      compared ? number(entry.baseline_ns) : "",
                      compared ? number(entry.speedup.value) : "",
                      compared && !open ? number(entry.speedup.low) : "",
                      compared && !open ? number(entry.speedup.high) : "",
                      std::to_string(entry.ties.size()),
                      known(entry.runner_up_ratio),
                      std::to_string(entry.rounds),
                      entry.toolchain.arch,
                      entry.toolchain.nvrtc,
                      entry.toolchain.driver,
                      entry.version.source_hash,
                      entry.provenance,
                      entry.finished_at,
                      std::string(to_text(table.objective)),
                      known(entry.roofline_ratio()),
                      known(entry.energy_j),
                      known(entry.cycles_speedup.value),
                      known(entry.cycles_speedup.low),
                      known(entry.cycles_speedup.high),
                      entry.prepared ? number(entry.prepared->time_ns) : "",
                      entry.prepared ? std::to_string(entry.prepared->bytes) : "",
                      entry.version.contract_hash,
                      entry.cubin_hash,
                      entry.cublas,
                      !entry.verification             ? ""
                      : entry.verification->failure() ? "failed"
                                                      : "passed"});
    }
  }
  return text;
}

}  // namespace assay
