#include "report/trials_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "report/config_text.h"
#include "report/entry_json.h"
#include "report/table.h"

namespace assay {
namespace {

/// Whether what the compiler reported is known: other tuners' files do not say. Every kernel has
/// registers.
bool has_report(const CompileReport& compile) { return compile.registers > 0; }

std::string reported_cell(const CompileReport& compile, int value) {
  return has_report(compile) ? std::to_string(value) : "-";
}

constexpr std::size_t kReasonColumns = 70;

std::string status_text(const Outcome& outcome) {
  return assay::status_text(outcome.status, outcome.kind);
}

/// How the configurations of the first `shown` rows are written.
ConfigTexts config_texts(const std::vector<TrialRow>& rows, std::size_t shown) {
  std::vector<KernelConfig> configs;
  for (std::size_t i = 0; i < shown; ++i) {
    configs.push_back({rows[i].record.kernel.name, rows[i].record.config});
  }
  return ConfigTexts(configs);
}

std::string left_out(std::size_t total, std::size_t shown) {
  return shown < total ? fmt::format("{} more; --limit 0 shows all\n", total - shown) : "";
}

std::size_t shown_of(std::size_t total, std::size_t limit) {
  return limit == 0 ? total : std::min(total, limit);
}

std::string indented(const std::string& text) {
  std::string out = "  ";
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) out += "  ";
  }
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

using CountKey = std::tuple<std::string, std::string, std::string, Status, std::string>;

std::map<CountKey, std::size_t> counts_of(const std::vector<TrialRow>& rows) {
  std::map<CountKey, std::size_t> counts;
  for (const TrialRow& row : rows) {
    const TrialRecord& trial = row.record;
    ++counts[{trial.kernel.name, to_text(trial.problem), row.device.name, trial.outcome.status,
              trial.outcome.kind}];
  }
  return counts;
}

std::string clock_text(const Timing& timing) {
  if (timing.clock_mhz <= 0) return "";
  std::string text = fmt::format("{:.0f} MHz median of the SMs", timing.clock_mhz);
  std::vector<double> known = timing.clocks_mhz;
  std::erase(known, 0);
  if (known.empty()) return text;  // a recording has no more
  const auto [low, high] = std::ranges::minmax_element(known);
  return text + fmt::format(", {:.0f} .. {:.0f}", *low, *high);
}

/// "throttled 3x: power cap": how many samples were taken at a clock held down, and what the driver
/// said after the last one. Empty for neither.
std::string throttled_text(const Timing& timing) {
  const std::string reasons = timing.state ? throttle_text(timing.state->throttle_reasons) : "";
  if (timing.num_throttled == 0 && reasons.empty()) return "";
  std::string text = "throttled";
  if (timing.num_throttled > 0) text += fmt::format(" {}x", timing.num_throttled);
  if (!reasons.empty()) text += ": " + reasons;
  return text;
}

std::string gpu_text(const Timing& timing) {
  const std::string throttled = throttled_text(timing);
  if (!timing.state) return throttled;
  return fmt::format("{:.0f} W, {:.0f} C, {}", timing.state->power_w, timing.state->temperature_c,
                     throttled.empty() ? "not throttled" : throttled);
}

std::string roofline_cell(const Timing& timing) {
  return timing.roofline_ns > 0 ? format_percent(timing.roofline_ns / timing.median_ns) : "-";
}

Json trial_object(const TrialRow& row) {
  const TrialRecord& trial = row.record;
  const Outcome& outcome = trial.outcome;
  Json check(nullptr), timing(nullptr), state(nullptr);
  if (const auto& v = outcome.validation) {
    check = {{"relative_error", v->relative_error},
             {"relative_limit", v->relative_limit},
             {"worst_element_ratio", v->worst_element_ratio},
             {"elements", v->elements},
             {"reference", text_or_null(v->reference)}};
  }
  if (const auto& t = outcome.timing) {
    if (t->state) {
      state = {{"throttle_reasons", t->state->throttle_reasons},
               {"power_w", t->state->power_w},
               {"temperature_c", t->state->temperature_c}};
    }
    timing = {{"time_ns", t->median_ns},
              {"time_low_ns", t->ci_low_ns},
              {"time_high_ns", t->ci_high_ns},
              {"stop", to_text(t->stop)},
              {"is_stopped_early", t->censored()},
              // A list is read without them.
              {"samples_ns", t->samples_ns.empty() ? Json(nullptr) : Json(t->samples_ns)},
              {"clock_mhz", known_or_null(t->clock_mhz)},
              {"clocks_mhz", t->clocks_mhz.empty() ? Json(nullptr) : Json(t->clocks_mhz)},
              {"num_throttled", t->num_throttled},
              {"roofline_ns", known_or_null(t->roofline_ns)},
              {"state", state}};
  }
  const auto reported = [&](int value) {
    return has_report(trial.compile) ? Json(value) : Json(nullptr);
  };
  return {{"trial", row.id},
          {"op", trial.kernel.op},
          {"kernel", trial.kernel.name},
          {"problem", problem_json(trial.problem)},
          {"config", config_json(trial.config)},
          {"status", to_text(outcome.status)},
          {"kind", outcome.kind},
          {"message", outcome.message},
          {"same_as", text_or_null(outcome.same_as)},
          {"compile",
           {{"compile_ms", trial.compile.compile_ms},
            {"is_cached", trial.compile.cached},
            {"registers", reported(trial.compile.registers)},
            {"spill_bytes", reported(trial.compile.spill_bytes)},
            {"stack_bytes", reported(trial.compile.stack_bytes)},
            {"static_smem_bytes", reported(trial.compile.static_smem_bytes)},
            {"cubin_hash", trial.compile.cubin_hash}}},
          {"check", check},
          {"timing", timing},
          {"prepared", prepared_json(outcome.prepared)},
          {"measurements", json_list(trial.measurements, measurement_json)},
          {"device_ms", outcome.device_ms},
          {"device", row.device.name},
          {"protocol", trial.protocol.name},
          {"precision_ratio", trial.protocol.precision_ratio},
          {"toolchain", toolchain_json(trial.toolchain)},
          {"source_hash", trial.kernel.source_hash},
          {"contract_hash", trial.kernel.contract_hash},
          {"provenance", row.provenance},
          {"measured_at", trial.finished_at}};
}

}  // namespace

std::string first_line(const std::string& message, std::size_t columns) {
  const std::size_t begin = message.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  std::string line = message.substr(begin, message.find_first_of("\r\n", begin) - begin);
  if (line.size() <= columns) return line;
  std::size_t end = columns - 3;
  while (end > 0 && continues_character(line[end])) --end;
  return line.substr(0, end) + "...";
}

std::string status_text(Status status, const std::string& kind) {
  return std::string(to_text(status)) + (kind.empty() ? "" : "/" + kind);
}

std::string trial_text(const TrialRow& row, std::int64_t memory_bytes, const Terminal& terminal) {
  const TrialRecord& trial = row.record;
  const Outcome& outcome = trial.outcome;
  std::string text = fmt::format("trial {}: {}\n", row.id, status_text(outcome));
  const std::size_t room =
      terminal.columns == 0 ? std::string::npos : std::max<std::size_t>(terminal.columns, 36) - 16;
  const auto line = [&text, room](std::string_view name, const std::string& value) {
    if (value.empty()) return;
    for (const std::string& part : folded(value, room)) {
      text += fmt::format("  {:<14}{}\n", name, part);
      name = "";
    }
  };
  line("kernel", fmt::format("{} ({})", trial.kernel.name, trial.kernel.op));
  line("problem", to_text(trial.problem));
  line("configuration", to_text(trial.config));
  line("device", row.device.name);
  line(outcome.status == Status::compiled ? "finished" : "measured",
       measured_text(row.provenance, trial.finished_at));
  line("protocol",
       fmt::format("{}, to {:.3g} %", trial.protocol.name, trial.protocol.precision_ratio * 100));
  line("toolchain",
       trial.toolchain.nvrtc.empty()
           ? ""
           : fmt::format("NVRTC {}, sm_{}, driver {}", trial.toolchain.nvrtc, trial.toolchain.arch,
                         trial.toolchain.driver.empty() ? "-" : trial.toolchain.driver));
  line("options", trial.toolchain.options);
  const CompileReport& compile = trial.compile;
  const std::string took =
      compile.cached ? "from the cache" : fmt::format("in {:.0f} ms", compile.compile_ms);
  if (has_report(compile)) {
    line("compiled", fmt::format("{} registers, {} spilled, {} stack, {} static shared memory, {}",
                                 compile.registers, format_bytes(compile.spill_bytes),
                                 format_bytes(compile.stack_bytes),
                                 format_bytes(compile.static_smem_bytes), took));
  } else if (compile.compile_ms > 0) {
    line("compiled", took);
  }
  line("cubin", compile.cubin_hash);
  line("source", trial.kernel.source_hash);
  if (!outcome.same_as.empty()) {
    line("not run", fmt::format("same machine code and launches as {}; check and times are that "
                                "trial's",
                                outcome.same_as));
  }
  if (const auto& v = outcome.validation) {
    line("check",
         fmt::format("{} elements; relative error {:.3g} of {:.3g} allowed; worst element "
                     "at {:.3g} of its bound",
                     v->elements, v->relative_error, v->relative_limit, v->worst_element_ratio));
    line("reference", v->reference);
  }
  if (const auto& verification = trial.verification) {
    line("verified", verification->finished_at.substr(0, 10));
    for (const VerificationCheck& check : verification->checks) {
      line("", fmt::format("{} {}{}{}", check.name, to_text(check.result),
                           check.message.empty() ? "" : ": ", check.message));
    }
  }
  if (const auto& prepared = outcome.prepared) {
    line("prepared", fmt::format("{} in {}, ahead of what is timed", format_bytes(prepared->bytes),
                                 format_time(prepared->time_ns)));
  }
  if (memory_bytes > 0) line("memory", format_bytes(memory_bytes));
  if (const auto& t = outcome.timing) {
    line("time",
         fmt::format("{}, 95 % interval {} .. {}, {} samples, {}", format_time(t->median_ns),
                     format_time(t->ci_low_ns), format_time(t->ci_high_ns), t->samples_ns.size(),
                     t->censored() ? "stopped early: clearly slower than the best so far"
                                   : fmt::format("stopped by {}", to_text(t->stop))));
    if (t->roofline_ns > 0) {
      line("roofline", fmt::format("{}: the device's ceilings allow {}", roofline_cell(*t),
                                   format_time(t->roofline_ns)));
    }
    line("clock", clock_text(*t));
    line("GPU", gpu_text(*t));
  }
  if (!outcome.message.empty()) text += "message:\n" + indented(outcome.message);
  Terminal inner = terminal;
  if (inner.columns > 2) inner.columns -= 2;  // what is indented has fewer
  if (!trial.measurements.empty()) {
    Table table({outcome.timing ? "measured beside the time" : "of a launch", ">value"});
    for (const Measurement& each : trial.measurements) {
      table.add_row({each.name, measurement_text(each)});
    }
    text += "\n" + indented(table.text(inner));
  }
  if (outcome.timing) text += "\n" + indented(histogram(outcome.timing->samples_ns, 12, inner));
  return text;
}

std::string measurement_text(const Measurement& measurement) {
  const double value = measurement.value;
  if (measurement.unit == "B") return format_bytes(value);
  if (measurement.unit == "%") return fmt::format("{:.1f} %", value);
  return fmt::format("{}{}{}",
                     value < 100 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value),
                     measurement.unit.empty() ? "" : " ", measurement.unit);
}

std::string trial_json(const TrialRow& row, std::int64_t memory_bytes) {
  Json trial = trial_object(row);
  trial["memory_bytes"] = count_or_null(memory_bytes);
  return document("trial", trial);
}

std::string counts_text(const std::vector<TrialRow>& rows, const Terminal& terminal) {
  Table table({"kernel", "problem", "device", "status", "kind", ">trials"});
  for (const auto& [key, count] : counts_of(rows)) {
    const auto& [kernel, problem, device, status, kind] = key;
    table.add_row({kernel, problem, device, std::string(to_text(status)), kind.empty() ? "-" : kind,
                   format_count(count)},
                  is_failure(status) ? Style::failure : Style::plain);
  }
  return table.text(terminal);
}

std::string counts_json(const std::vector<TrialRow>& rows) {
  Json counts = Json::array();
  for (const auto& [key, count] : counts_of(rows)) {
    const auto& [kernel, problem, device, status, kind] = key;
    counts.push_back({{"kernel", kernel},
                      {"problem", problem_json(parse_problem(problem))},
                      {"device", device},
                      {"status", to_text(status)},
                      {"kind", kind},
                      {"num_trials", count}});
  }
  return document("counts", {{"counts", std::move(counts)}});
}

std::vector<TrialRow> failed_trials(std::vector<TrialRow> rows) {
  std::erase_if(rows, [](const TrialRow& row) { return !is_failure(row.record.outcome.status); });
  return rows;
}

std::vector<TrialRow> timed_trials(std::vector<TrialRow> rows) {
  std::erase_if(rows, [](const TrialRow& row) { return !row.record.outcome.timing; });
  const auto before = [](const TrialRow& a, const TrialRow& b) {
    if (a.record.kernel.op != b.record.kernel.op) return a.record.kernel.op < b.record.kernel.op;
    if (problem_less(a.record.problem, b.record.problem)) return true;
    if (problem_less(b.record.problem, a.record.problem)) return false;
    // strong_order has a place for NaN, without which this were no order.
    return std::strong_order(a.record.outcome.timing->median_ns,
                             b.record.outcome.timing->median_ns) < 0;
  };
  // Rows are large: they are moved once, when their order is known.
  std::vector<TrialRow*> order;
  order.reserve(rows.size());
  for (TrialRow& row : rows) order.push_back(&row);
  std::ranges::stable_sort(order,
                           [&](const TrialRow* a, const TrialRow* b) { return before(*a, *b); });
  std::vector<TrialRow> sorted;
  sorted.reserve(rows.size());
  for (TrialRow* row : order) sorted.push_back(std::move(*row));
  return sorted;
}

std::string times_text(const std::vector<TrialRow>& timed, std::size_t limit,
                       const Terminal& terminal) {
  const std::size_t shown = shown_of(timed.size(), limit);
  const ConfigTexts texts = config_texts(timed, shown);
  Table table({">id", "problem", "kernel", "configuration", ">time", "?>roofline", ">clock",
               ">registers", ">spilled", "status", "measured"});
  for (std::size_t i = 0; i < shown; ++i) {
    const TrialRecord& trial = timed[i].record;
    const Timing& timing = *trial.outcome.timing;
    table.add_row({std::to_string(timed[i].id), to_text(trial.problem), trial.kernel.name,
                   texts.line({trial.kernel.name, trial.config}), format_time(timing.median_ns),
                   roofline_cell(timing),
                   timing.clock_mhz > 0 ? fmt::format("{:.0f} MHz", timing.clock_mhz) : "-",
                   reported_cell(trial.compile, trial.compile.registers),
                   reported_cell(trial.compile, trial.compile.spill_bytes),
                   status_text(trial.outcome) + (timing.censored() ? ", stopped early" : ""),
                   measured_text(timed[i].provenance, trial.finished_at)});
  }
  return table.text(terminal) + texts.notes(terminal) + left_out(timed.size(), shown);
}

std::string failures_text(const std::vector<TrialRow>& failed, std::size_t limit,
                          const Terminal& terminal) {
  const std::size_t shown = shown_of(failed.size(), limit);
  const ConfigTexts texts = config_texts(failed, shown);
  Table table({">id", "kernel", "problem", "configuration", "status", "reason"});
  for (std::size_t i = 0; i < shown; ++i) {
    const TrialRecord& trial = failed[i].record;
    table.add_row({std::to_string(failed[i].id), trial.kernel.name, to_text(trial.problem),
                   terminal.columns == 0 ? to_text(trial.config)
                                         : texts.line({trial.kernel.name, trial.config}),
                   status_text(trial.outcome), first_line(trial.outcome.message, kReasonColumns)});
  }
  return table.text(terminal) + (terminal.columns == 0 ? "" : texts.notes(terminal)) +
         left_out(failed.size(), shown);
}

std::string trials_json(const std::vector<TrialRow>& rows, std::size_t limit) {
  const std::size_t shown = shown_of(rows.size(), limit);
  return document("trials", {{"trials", json_list(std::span(rows).first(shown), trial_object)},
                             {"num_left_out", rows.size() - shown}});
}

}  // namespace assay
