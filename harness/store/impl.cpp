#include "store/impl.h"

#include <fmt/format.h>

#include "store/owner.h"
#include "store/rows.h"

namespace assay {
namespace {

// The outcome's columns, in the order that put_trial binds them.
constexpr std::string_view kPutTrial =
    "INSERT INTO trial(device_id, kernel_id, toolchain_id, protocol_id, problem_id, config_id, "
    "sweep_id, status, kind, message, compile_ms, cached, registers, spill_bytes, stack_bytes, "
    "static_smem_bytes, cubin_hash, device_ms, median_ns, ci_low_ns, ci_high_ns, stop, "
    "clock_mhz, throttle_reasons, power_w, temperature_c, num_throttled, roofline_ns, finished_at, "
    "attempts, claimed_at) "
    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "coalesce(nullif(?, ''), strftime('%Y-%m-%dT%H:%M:%SZ')), 1, unixepoch()) "
    "ON CONFLICT(device_id, kernel_id, toolchain_id, protocol_id, problem_id, config_id) "
    "DO UPDATE SET sweep_id = excluded.sweep_id, status = excluded.status, kind = excluded.kind, "
    "message = excluded.message, compile_ms = excluded.compile_ms, cached = excluded.cached, "
    "registers = excluded.registers, spill_bytes = excluded.spill_bytes, "
    "stack_bytes = excluded.stack_bytes, static_smem_bytes = excluded.static_smem_bytes, "
    "cubin_hash = excluded.cubin_hash, device_ms = excluded.device_ms, "
    "median_ns = excluded.median_ns, ci_low_ns = excluded.ci_low_ns, "
    "ci_high_ns = excluded.ci_high_ns, stop = excluded.stop, clock_mhz = excluded.clock_mhz, "
    "throttle_reasons = excluded.throttle_reasons, power_w = excluded.power_w, "
    "temperature_c = excluded.temperature_c, num_throttled = excluded.num_throttled, "
    "roofline_ns = excluded.roofline_ns, finished_at = excluded.finished_at "
    "WHERE trial.status = 'running' RETURNING id";

/// A figure that is 0 where it is not known, as a column that is then NULL.
std::optional<double> known(double value) {
  return value == 0 ? std::nullopt : std::optional(value);
}

/// The state's columns; all NULL without one.
struct StateColumns {
  std::optional<std::int64_t> throttle_reasons;
  std::optional<double> power_w;
  std::optional<double> temperature_c;

  explicit StateColumns(const std::optional<GpuState>& state) {
    if (!state) return;
    throttle_reasons = static_cast<std::int64_t>(state->throttle_reasons);
    power_w = state->power_w;
    temperature_c = state->temperature_c;
  }
};

}  // namespace

std::int64_t Store::Impl::device_of(std::int64_t sweep_id) {
  Query row = database.query("SELECT device_id FROM sweep WHERE id = ?", sweep_id);
  if (!row.step()) throw Error(fmt::format("{} has no sweep {}", path.string(), sweep_id));
  return row.integer(0);
}

std::int64_t Store::Impl::add_sweep(const std::string& name, const std::string& yaml,
                                    const std::string& command_line, std::int64_t device,
                                    const std::string& state) {
  const Owner owner = this_process();
  Query row = database.query(
      "INSERT INTO sweep(name, yaml, command_line, device_id, state, started_at, host, boot_id, "
      "pid, process_start) VALUES(?, ?, ?, ?, ?, strftime('%Y-%m-%dT%H:%M:%SZ'), ?, ?, ?, ?) "
      "RETURNING id",
      name, yaml, command_line, device, state, owner.host, owner.boot_id, owner.pid,
      owner.process_start);
  row.step();
  return row.integer(0);
}

void Store::Impl::link(std::int64_t sweep_id, std::int64_t trial_id) {
  database
      .query("INSERT OR IGNORE INTO sweep_trial(trial_id, sweep_id) VALUES(?, ?)", trial_id,
             sweep_id)
      .run();
}

void Store::Impl::put_trial(std::int64_t sweep_id, std::int64_t device, const TrialRecord& record) {
  const KeyIds ids = key_ids(
      database, {record.kernel, record.toolchain, record.protocol, record.problem, record.config},
      IfNew::add);
  const Outcome& outcome = record.outcome;
  const CompileReport& compile = record.compile;
  const auto put = [&](const auto&... times) {
    Query row =
        database.query(kPutTrial, device, ids.kernel, ids.toolchain, ids.protocol, ids.problem,
                       ids.config, sweep_id, to_text(outcome.status), outcome.kind, outcome.message,
                       compile.compile_ms, compile.cached, compile.registers, compile.spill_bytes,
                       compile.stack_bytes, compile.static_smem_bytes, compile.cubin_hash,
                       outcome.device_ms, times..., record.finished_at);
    return row.step() ? row.integer(0) : 0;
  };
  const auto put_timed = [&](const Timing& timing) {
    const StateColumns state(timing.state);
    return put(timing.median_ns, timing.ci_low_ns, timing.ci_high_ns, to_text(timing.stop),
               timing.clock_mhz, state.throttle_reasons, state.power_w, state.temperature_c,
               timing.num_throttled, known(timing.roofline_ns));
  };
  const std::int64_t trial_id = outcome.timing ? put_timed(*outcome.timing)
                                               : put(nullptr, nullptr, nullptr, nullptr, nullptr,
                                                     nullptr, nullptr, nullptr, nullptr, nullptr);
  if (trial_id == 0) {  // done already: the first result stays, as a result of this sweep too
    link(sweep_id, trial_state(database, device, ids).value().id);
    return;
  }

  if (outcome.timing) {
    database
        .query("INSERT INTO samples(trial_id, times_ns, clocks_mhz) VALUES(?, ?, ?)", trial_id,
               outcome.timing->samples_ns, outcome.timing->clocks_mhz)
        .run();
  }
  if (const auto& validation = outcome.validation) {
    database
        .query(
            "INSERT INTO validation(trial_id, relative_error, relative_limit, "
            "worst_element_ratio, elements) VALUES(?, ?, ?, ?, ?)",
            trial_id, validation->relative_error, validation->relative_limit,
            validation->worst_element_ratio, validation->elements)
        .run();
  }
  link(sweep_id, trial_id);
}

void Store::Impl::put_baseline(std::int64_t sweep_id, std::int64_t device,
                               const BaselineRecord& record) {
  const StateColumns state(record.timing.state);
  // Every measurement is kept; the same one, imported twice, is not.
  database
      .query(
          "INSERT INTO baseline(sweep_id, device_id, op, problem_id, protocol_id, "
          "toolchain_id, name, detail, median_ns, ci_low_ns, ci_high_ns, stop, times_ns, "
          "finished_at, clock_mhz, throttle_reasons, power_w, temperature_c, clocks_mhz, "
          "num_throttled, roofline_ns) "
          "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, "
          "?19, ?20, ?21 WHERE NOT EXISTS("
          "SELECT 1 FROM baseline WHERE device_id = ?2 AND op = ?3 AND problem_id = ?4 AND "
          "protocol_id = ?5 AND toolchain_id = ?6 AND name = ?7 AND finished_at = ?14 AND "
          "times_ns = ?13)",
          sweep_id, device, record.op, problem_id(database, record.problem, IfNew::add),
          protocol_id(database, record.protocol, IfNew::add),
          toolchain_id(database, record.toolchain, IfNew::add), record.name, record.detail,
          record.timing.median_ns, record.timing.ci_low_ns, record.timing.ci_high_ns,
          to_text(record.timing.stop), record.timing.samples_ns, record.finished_at,
          record.timing.clock_mhz, state.throttle_reasons, state.power_w, state.temperature_c,
          record.timing.clocks_mhz, record.timing.num_throttled, known(record.timing.roofline_ns))
      .run();
}

void Store::Impl::put_rank(std::int64_t sweep_id, std::int64_t device, const RankRecord& record) {
  const std::int64_t problem = problem_id(database, record.problem, IfNew::add);
  const std::int64_t protocol = protocol_id(database, record.protocol, IfNew::add);
  std::int64_t rank_id = 0;
  {
    Query row = database.query(
        "INSERT INTO rank(sweep_id, device_id, op, problem_id, protocol_id, rounds, finished_at, "
        "objective) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS(SELECT 1 FROM rank "
        "WHERE sweep_id <> ?1 AND device_id = ?2 AND op = ?3 AND problem_id = ?4 AND "
        "protocol_id = ?5 AND rounds = ?6 AND finished_at = ?7 AND objective = ?8) RETURNING id",
        sweep_id, device, record.op, problem, protocol, record.rounds, record.finished_at,
        to_text(record.objective));
    if (!row.step()) return;
    rank_id = row.integer(0);
  }
  int position = 0;
  for (const RankEntry& entry : record.entries) {
    const Interval& cycles = entry.cycles_ratio_to_best;
    const bool has_cycles = cycles.value != 0;
    database
        .query(
            "INSERT INTO rank_entry(rank_id, position, kernel, config, median_ns, "
            "ratio_to_best, ratio_low, ratio_high, speedup, speedup_low, speedup_high, winner, "
            "tied, failure, times_ns, eliminated, clocks_mhz, cycles_ratio_to_best, "
            "cycles_ratio_low, cycles_ratio_high, energy_j, roofline_ns) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rank_id, position++, entry.kernel, entry.config, entry.median_ns,
            entry.ratio_to_best.value, entry.ratio_to_best.low, entry.ratio_to_best.high,
            entry.speedup_over_baseline.value, entry.speedup_over_baseline.low,
            entry.speedup_over_baseline.high, entry.winner, entry.tied, entry.failure,
            entry.samples_ns, entry.eliminated, entry.clocks_mhz, known(cycles.value),
            has_cycles ? std::optional(cycles.low) : std::nullopt,
            has_cycles ? std::optional(cycles.high) : std::nullopt, known(entry.energy_j),
            known(entry.roofline_ns))
        .run();
  }
  if (const auto& noise = record.noise) {
    database
        .query(
            "INSERT INTO rank_noise(rank_id, kernel, config, ratio, ratio_low, ratio_high, "
            "times_ns) VALUES(?, ?, ?, ?, ?, ?, ?)",
            rank_id, noise->kernel, noise->config, noise->ratio.value, noise->ratio.low,
            noise->ratio.high, noise->samples_ns)
        .run();
  }
}

}  // namespace assay
