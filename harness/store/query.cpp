#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "store/impl.h"
#include "store/rows.h"

namespace assay {
namespace {

// Which rows a Filter matches. A trial row holds only ids of rows in the small tables. So the
// filter is applied once to those tables, and then to ids.
class Matcher {
 public:
  Matcher(const Filter& filter, const Dimensions& dimensions) : filter_(filter) {
    if (!filter.status.empty() && !parse_status(filter.status)) {
      throw UsageError(fmt::format(
          "unknown status '{}': correct, constraints, compile, runtime, timeout or correctness",
          filter.status));
    }
    const Problem wanted = parse_problem(filter.problem);
    for (const auto& [id, device] : dimensions.devices) {
      if (filter.device.empty() || filter.device == device.info.name ||
          filter.device == device.info.slug()) {
        devices_.insert(id);
      }
    }
    for (const auto& [id, problem] : dimensions.problems) {
      const auto has = [&problem = problem](const auto& dim) {
        return std::find(problem.begin(), problem.end(), dim) != problem.end();
      };
      if (std::all_of(wanted.begin(), wanted.end(), has)) problems_.insert(id);
    }
    for (const auto& [id, kernel] : dimensions.kernels) {
      if ((filter.op.empty() || filter.op == kernel.op) &&
          (filter.kernel.empty() || filter.kernel == kernel.name)) {
        kernels_.insert(id);
        ops_.insert(kernel.op);
      }
    }
  }

  void only_device(std::int64_t id) { devices_ = {id}; }

  bool device(std::int64_t id) const { return devices_.contains(id); }
  bool problem(std::int64_t id) const { return problems_.contains(id); }
  bool kernel(std::int64_t id) const { return kernels_.contains(id); }
  /// Whether a row that has an op but no kernel can be about the kernel asked for.
  bool op(const std::string& op) const {
    if (!filter_.op.empty() && filter_.op != op) return false;
    return filter_.kernel.empty() || ops_.contains(op);
  }

 private:
  Filter filter_;
  std::unordered_set<std::int64_t> devices_, problems_, kernels_;
  std::unordered_set<std::string> ops_;
};

// The columns of finished trials that read_trial reads.
std::string select_trials(std::string_view message, std::string_view where) {
  return fmt::format(
      "SELECT trial.id, device_id, kernel_id, toolchain_id, protocol_id, problem_id, config.text, "
      "status, kind, compile_ms, cached, registers, spill_bytes, stack_bytes, static_smem_bytes, "
      "cubin_hash, device_ms, median_ns, ci_low_ns, ci_high_ns, stop, clock_mhz, "
      "throttle_reasons, power_w, temperature_c, num_throttled, roofline_ns, finished_at, "
      "elements, "
      "relative_error, relative_limit, worst_element_ratio, {} FROM trial "
      "JOIN config ON config.id = config_id LEFT JOIN validation ON trial_id = trial.id "
      "WHERE status <> 'running' AND {}",
      message, where);
}

constexpr int kDevice = 1, kKernel = 2, kProblem = 5, kMessage = 32;

TrialRow read_trial(const Query& row, const Dimensions& dimensions) {
  TrialRow trial;
  trial.id = row.integer(0);
  const StoredDevice& device = dimensions.devices.at(row.integer(kDevice));
  trial.device = device.info;
  trial.provenance = device.provenance;
  TrialRecord& record = trial.record;
  record.kernel = dimensions.kernels.at(row.integer(kKernel));
  record.toolchain = dimensions.toolchains.at(row.integer(3));
  record.protocol = dimensions.protocols.at(row.integer(4));
  record.problem = dimensions.problems.at(row.integer(kProblem));
  record.config = parse_config(row.text(6));
  record.compile = {.compile_ms = row.real(9),
                    .cached = row.flag(10),
                    .registers = row.small(11),
                    .spill_bytes = row.small(12),
                    .stack_bytes = row.small(13),
                    .static_smem_bytes = row.small(14),
                    .cubin_hash = row.text(15)};
  Outcome& outcome = record.outcome;
  outcome.status = parse_status(row.text(7)).value_or(Status::runtime);
  outcome.kind = row.text(8);
  outcome.message = row.text(kMessage);
  outcome.device_ms = row.real(16);
  if (!row.is_null(20)) outcome.timing = read_timing(row, 17);
  record.finished_at = row.text(27);
  if (!row.is_null(28)) {
    outcome.validation = {.relative_error = row.real(29),
                          .relative_limit = row.real(30),
                          .worst_element_ratio = row.real(31),
                          .elements = row.integer(28)};
  }
  return trial;
}

void read_samples(Database& database, TrialRow& trial) {
  if (!trial.record.outcome.timing) return;
  Query row =
      database.query("SELECT times_ns, clocks_mhz FROM samples WHERE trial_id = ?", trial.id);
  if (!row.step()) return;
  trial.record.outcome.timing->samples_ns = row.reals(0);
  trial.record.outcome.timing->clocks_mhz = row.reals(1);
}

std::vector<RankEntry> read_entries(Database& database, std::int64_t rank_id) {
  std::vector<RankEntry> entries;
  for (Query row = database.query(
           "SELECT kernel, config, times_ns, median_ns, ratio_to_best, ratio_low, ratio_high, "
           "speedup, speedup_low, speedup_high, winner, tied, failure, eliminated, clocks_mhz, "
           "cycles_ratio_to_best, cycles_ratio_low, cycles_ratio_high, energy_j, roofline_ns "
           "FROM rank_entry WHERE rank_id = ? ORDER BY position",
           rank_id);
       row.step();) {
    entries.push_back(
        {.kernel = row.text(0),
         .config = row.text(1),
         .samples_ns = row.reals(2),
         .median_ns = row.real(3),
         .ratio_to_best = {row.real(4), row.real(5), row.real(6)},
         .speedup_over_baseline = {row.real(7), row.real(8), row.real(9)},
         .winner = row.flag(10),
         .tied = row.flag(11),
         .failure = row.text(12),
         .eliminated = row.flag(13),
         .clocks_mhz = row.reals(14),
         .cycles_ratio_to_best = {row.real_or_zero(15), row.real_or_zero(16), row.real_or_zero(17)},
         .energy_j = row.real_or_zero(18),
         .roofline_ns = row.real_or_zero(19)});
  }
  return entries;
}

std::optional<NoiseFloor> read_noise(Database& database, std::int64_t rank_id) {
  Query row = database.query(
      "SELECT kernel, config, times_ns, ratio, ratio_low, ratio_high FROM rank_noise "
      "WHERE rank_id = ?",
      rank_id);
  if (!row.step()) return std::nullopt;
  return NoiseFloor{
      row.text(0), row.text(1), row.reals(2), {row.real(3), row.real(4), row.real(5)}};
}

std::vector<BaselineRow> read_baselines(Database& database, const Dimensions& dimensions,
                                        const Matcher& matches, const std::string& sweep) {
  std::vector<BaselineRow> baselines;
  for (Query row = database.query(
           "SELECT baseline.device_id, op, problem_id, protocol_id, toolchain_id, baseline.name, "
           "detail, "
           "median_ns, ci_low_ns, ci_high_ns, stop, baseline.clock_mhz, throttle_reasons, power_w, "
           "temperature_c, num_throttled, roofline_ns, finished_at, times_ns, clocks_mhz, "
           "row_number() OVER("
           "PARTITION BY op, problem_id, baseline.device_id, protocol_id, baseline.name "
           "ORDER BY finished_at DESC, baseline.id DESC) "
           "FROM baseline JOIN sweep ON sweep.id = sweep_id WHERE ?1 = '' OR sweep.name = ?1 "
           "ORDER BY baseline.id",
           sweep);
       row.step();) {
    constexpr int kAge = 20;
    if (row.integer(kAge) > 1 || !matches.device(row.integer(0)) || !matches.op(row.text(1)) ||
        !matches.problem(row.integer(2))) {
      continue;
    }
    const StoredDevice& device = dimensions.devices.at(row.integer(0));
    BaselineRecord record{.op = row.text(1),
                          .problem = dimensions.problems.at(row.integer(2)),
                          .protocol = dimensions.protocols.at(row.integer(3)),
                          .toolchain = dimensions.toolchains.at(row.integer(4)),
                          .name = row.text(5),
                          .detail = row.text(6),
                          .timing = read_timing(row, 7),
                          .finished_at = row.text(17)};
    record.timing.samples_ns = row.reals(18);
    record.timing.clocks_mhz = row.reals(19);
    baselines.push_back({device.info, device.provenance, std::move(record)});
  }
  return baselines;
}

std::vector<RankRow> read_ranks(Database& database, const Dimensions& dimensions,
                                const Matcher& matches, const Filter& filter) {
  std::vector<RankRow> ranks;
  for (Query row = database.query(
           "SELECT rank.device_id, op, problem_id, protocol_id, rounds, finished_at, rank.id, "
           "objective, row_number() OVER("
           "PARTITION BY op, problem_id, rank.device_id, protocol_id, objective ORDER BY "
           "finished_at DESC, rank.id DESC) "
           "FROM rank JOIN sweep ON sweep.id = sweep_id WHERE ?1 = '' OR sweep.name = ?1 "
           "ORDER BY rank.id",
           filter.sweep);
       row.step();) {
    constexpr int kAge = 8;
    if (row.integer(kAge) > 1 || !matches.device(row.integer(0)) || !matches.op(row.text(1)) ||
        !matches.problem(row.integer(2))) {
      continue;
    }
    const StoredDevice& device = dimensions.devices.at(row.integer(0));
    RankRecord record{.op = row.text(1),
                      .problem = dimensions.problems.at(row.integer(2)),
                      .protocol = dimensions.protocols.at(row.integer(3)),
                      .rounds = row.small(4),
                      .entries = read_entries(database, row.integer(6)),
                      .finished_at = row.text(5),
                      .noise = read_noise(database, row.integer(6)),
                      .objective = parse_objective(row.text(7)).value_or(Objective::time)};
    const auto is_wanted = [&](const RankEntry& entry) { return entry.kernel == filter.kernel; };
    if (filter.kernel.empty() ||
        std::any_of(record.entries.begin(), record.entries.end(), is_wanted)) {
      ranks.push_back({device.info, device.provenance, std::move(record)});
    }
  }
  return ranks;
}

// The device of the last sweep with this name. A measured one comes before a replayed one.
std::int64_t recorded_device(Database& database, const std::string& sweep) {
  Query row = database.query(
      "SELECT device_id FROM sweep JOIN device ON device.id = device_id WHERE sweep.name = ? "
      "ORDER BY provenance <> '', sweep.id DESC LIMIT 1",
      sweep);
  if (row.step()) return row.integer(0);
  throw UsageError(fmt::format("{} has no sweep named '{}'", database.path().string(), sweep));
}

}  // namespace

std::vector<TrialRow> Store::trials(const Filter& filter) const {
  static const std::string sql = select_trials(
      "substr(message, 1, 2000)",
      "(?1 = '' OR status = ?1) AND (?2 = '' OR EXISTS(SELECT 1 FROM sweep_trial AS link "
      "JOIN sweep ON sweep.id = link.sweep_id WHERE link.trial_id = trial.id AND "
      "sweep.name = ?2)) ORDER BY trial.id");
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    const Dimensions dimensions(database);
    const Matcher matches(filter, dimensions);
    std::vector<TrialRow> trials;
    for (Query row = database.query(sql, filter.status, filter.sweep); row.step();) {
      if (matches.device(row.integer(kDevice)) && matches.kernel(row.integer(kKernel)) &&
          matches.problem(row.integer(kProblem))) {
        trials.push_back(read_trial(row, dimensions));
      }
    }
    return trials;
  });
}

std::optional<TrialRow> Store::trial(std::int64_t id) const {
  static const std::string sql = select_trials("message", "trial.id = ?");
  Database& database = impl_->database;
  return database.guarded([&]() -> std::optional<TrialRow> {
    const Transaction transaction(database, Transaction::Mode::read);
    const Dimensions dimensions(database);
    Query row = database.query(sql, id);
    if (!row.step()) return std::nullopt;
    TrialRow trial = read_trial(row, dimensions);
    read_samples(database, trial);
    return trial;
  });
}

std::optional<TrialRecord> Store::find(std::int64_t sweep_id, const TrialKey& key) const {
  Database& database = impl_->database;
  const auto state = database.guarded([&] {
    return trial_state(database, impl_->device_of(sweep_id), key_ids(database, key, IfNew::leave));
  });
  if (!state) return std::nullopt;
  std::optional<TrialRow> row = trial(state->id);
  if (!row) return std::nullopt;
  return std::move(row->record);
}

std::vector<BaselineRow> Store::baselines(const Filter& filter) const {
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    const Dimensions dimensions(database);
    return read_baselines(database, dimensions, Matcher(filter, dimensions), filter.sweep);
  });
}

std::vector<RankRow> Store::ranks(const Filter& filter) const {
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    const Dimensions dimensions(database);
    return read_ranks(database, dimensions, Matcher(filter, dimensions), filter);
  });
}

Recording Store::record(const std::string& sweep_name) const {
  static const std::string sql =
      select_trials("message",
                    "device_id = ?1 AND EXISTS(SELECT 1 FROM sweep_trial AS link "
                    "JOIN sweep ON sweep.id = link.sweep_id WHERE link.trial_id = trial.id AND "
                    "sweep.name = ?2) ORDER BY finished_at DESC, trial.id DESC");
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    const std::int64_t device = recorded_device(database, sweep_name);
    const Dimensions dimensions(database);
    Recording recording;
    recording.sweep = sweep_name;
    recording.device = dimensions.devices.at(device).info;

    std::unordered_set<std::string> seen;
    for (Query row = database.query(sql, device, sweep_name); row.step();) {
      TrialRow trial = read_trial(row, dimensions);
      const TrialRecord& record = trial.record;
      const std::string what = fmt::format("{} {} {} {}", record.kernel.name, record.protocol.name,
                                           to_text(record.problem), to_text(record.config));
      if (!seen.insert(what).second) continue;
      recording.recorded_at = std::max(recording.recorded_at, record.finished_at.substr(0, 10));
      read_samples(database, trial);
      recording.trials.push_back(std::move(trial.record));
    }
    std::reverse(recording.trials.begin(), recording.trials.end());

    Filter filter;
    filter.sweep = sweep_name;
    Matcher matches(filter, dimensions);
    matches.only_device(device);
    for (BaselineRow& row : read_baselines(database, dimensions, matches, sweep_name)) {
      recording.baselines.push_back(std::move(row.record));
    }
    for (RankRow& row : read_ranks(database, dimensions, matches, filter)) {
      recording.ranks.push_back(std::move(row.record));
    }
    return recording;
  });
}

}  // namespace assay
