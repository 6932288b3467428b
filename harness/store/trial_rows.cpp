#include "store/trial_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "ranking/claims.h"

namespace assay {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream stream(text);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

/// Throws DamagedRow where the record contradicts itself. `what` names it.
template <class Record, class What>
Record supported(Record record, const What& what) {
  if (const std::string wrong = contradiction(record); !wrong.empty()) {
    throw DamagedRow(fmt::format("{}: {}", what(), wrong));
  }
  return record;
}

Measurement read_measurement(RowReader& row, std::int64_t trial_id) {
  return supported(Measurement{row.text(), row.real(), row.text()},
                   [&] { return fmt::format("a measurement of trial {}", trial_id); });
}

RankEntry read_entry(RowReader& row) {
  RankEntry entry;
  entry.trial_id = row.integer();
  entry.kernel = row.text();
  entry.config = row.text();
  if (!entry.kernel.empty()) stored_config(entry.config);
  entry.samples_ns = row.reals();
  entry.median_ns = row.real();
  entry.ratio_to_best = row.interval();
  entry.speedup_over_baseline = row.interval();
  entry.winner = row.flag();
  entry.tied = row.flag();
  entry.failure = row.text();
  entry.eliminated = row.flag();
  entry.clocks_mhz = row.reals();
  entry.cycles_ratio_to_best = {row.real_or_zero(), row.real_or_zero(), row.real_or_zero()};
  entry.energy_j = row.real_or_zero();
  entry.roofline_ns = row.real_or_zero();
  entry.figures = stored_problem(row.text());
  return entry;
}

std::optional<NoiseFloor> read_noise(Database& database, std::int64_t rank_id) {
  Query query = database.query(
      "SELECT kernel, config, times_ns, ratio, ratio_low, ratio_high FROM rank_noise "
      "WHERE rank_id = ?",
      rank_id);
  if (!query.step()) return std::nullopt;
  RowReader row(query);
  return NoiseFloor{row.text(), row.text(), row.reals(), row.interval()};
}

}  // namespace

Matcher::Matcher(const Filter& filter, const Dimensions& dimensions) : filter_(filter) {
  if (!filter.status.empty() && !parse_status(filter.status)) {
    throw UsageError(
        fmt::format("unknown status '{}'; expected one of {}", filter.status, known_statuses()));
  }
  const Problem wanted = parse_problem(filter.problem);
  for (const auto& [id, device] : dimensions.devices) {
    if (filter.device.empty() || device.info.is_called(filter.device)) devices_.insert(id);
  }
  for (const auto& [id, problem] : dimensions.problems) {
    const auto has = [&problem](const auto& dim) {
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

bool Matcher::op(const std::string& op) const {
  if (!filter_.op.empty() && filter_.op != op) return false;
  return filter_.kernel.empty() || ops_.contains(op);
}

std::string select_trials(std::string_view message, std::string_view where, std::string_view more) {
  return fmt::format(
      "SELECT trial.id, device_id, kernel_id, toolchain_id, protocol_id, problem_id, config.text, "
      "status, kind, {}, compile_ms, cached, registers, spill_bytes, stack_bytes, "
      "static_smem_bytes, cubin_hash, device_ms, finished_at, same_as, prepare_ns, prepared_bytes, "
      "elements, "
      "relative_error, relative_limit, worst_element_ratio, validation.reference, timing_id, {}, "
      "{}{} "
      "FROM trial "
      "JOIN config ON config.id = config_id LEFT JOIN validation ON trial_id = trial.id "
      "LEFT JOIN timing ON timing.id = timing_id WHERE status <> 'running' AND {}",
      message, kTimingColumns, kSampleColumns, more, where);
}

TrialRow read_unchecked(RowReader& row, const Dimensions& dimensions, TrialIds& ids) {
  TrialRow trial;
  trial.id = row.integer();
  ids = {row.integer(), row.integer(), row.integer(), row.integer(), row.integer()};
  const StoredDevice& device = dimensions.devices.at(ids.device);
  trial.device = device.info;
  trial.provenance = device.provenance;
  TrialRecord& record = trial.record;
  record.kernel = dimensions.kernels.at(ids.kernel);
  record.toolchain = dimensions.toolchains.at(ids.toolchain);
  record.protocol = dimensions.protocols.at(ids.protocol);
  record.problem = dimensions.problems.at(ids.problem);
  record.config = stored_config(row.text());
  Outcome& outcome = record.outcome;
  outcome.status = parse_status(row.text()).value_or(Status::runtime);
  outcome.kind = row.text();
  outcome.message = row.text();
  CompileReport& compile = record.compile;
  compile.compile_ms = row.real();
  compile.cached = row.flag();
  compile.registers = row.small();
  compile.spill_bytes = row.small();
  compile.stack_bytes = row.small();
  compile.static_smem_bytes = row.small();
  compile.cubin_hash = row.text();
  outcome.device_ms = row.real();
  record.finished_at = row.text();
  outcome.same_as = row.text();
  if (row.is_null()) {
    row.skip(2);
  } else {
    const double prepare_ns = row.real();
    outcome.prepared = {prepare_ns, row.integer()};
  }
  if (row.is_null()) {
    row.skip(5);
  } else {
    Validation& validation = outcome.validation.emplace();
    validation.elements = row.integer();
    validation.relative_error = row.real();
    validation.relative_limit = row.real();
    validation.worst_element_ratio = row.real();
    validation.reference = row.text();
  }
  const bool timed = !row.is_null();
  row.skip();
  Timing timing = read_timing(row);
  read_samples(row, timing);
  if (timed) outcome.timing = std::move(timing);
  return trial;
}

TrialRow read_trial(RowReader& row, const Dimensions& dimensions, TrialIds& ids) {
  TrialRow trial = read_unchecked(row, dimensions, ids);
  if (const std::string wrong = contradiction(trial.record); !wrong.empty()) {
    throw DamagedRow(fmt::format("trial {}: {}", trial.id, wrong));
  }
  if (auto& timing = trial.record.outcome.timing) {
    timing->samples_ns = {};
    timing->clocks_mhz = {};
  }
  return trial;
}

void read_figures(Database& database, TrialRow& trial) {
  {
    Query query = database.query("SELECT message FROM trial WHERE id = ?", trial.id);
    if (query.step()) trial.record.outcome.message = query.text(0);
  }
  if (auto& timing = trial.record.outcome.timing) {
    static const std::string sql =
        fmt::format("SELECT {} FROM trial JOIN timing ON timing.id = timing_id WHERE trial.id = ?",
                    kSampleColumns);
    Query query = database.query(sql, trial.id);
    if (query.step()) {
      RowReader row(query);
      read_samples(row, *timing);
    }
  }
  trial.record.measurements = read_measurements(database, trial.id);
}

std::vector<Measurement> read_measurements(Database& database, std::int64_t trial_id) {
  return MeasurementReader(database, trial_id, trial_id).of(trial_id);
}

MeasurementReader::MeasurementReader(Database& database, std::int64_t first, std::int64_t last)
    : rows_(database.query("SELECT trial_id, name, value, unit FROM measurement WHERE trial_id "
                           "BETWEEN ? AND ? ORDER BY trial_id, name",
                           first, last)) {
  is_any_ = rows_.step();
}

std::vector<Measurement> MeasurementReader::of(std::int64_t trial_id) {
  std::vector<Measurement> measurements;
  for (; is_any_ && rows_.integer(0) <= trial_id; is_any_ = rows_.step()) {
    RowReader row(rows_);
    if (row.integer() == trial_id) measurements.push_back(read_measurement(row, trial_id));
  }
  return measurements;
}

std::map<std::int64_t, Verification> read_verifications(Database& database,
                                                        const Dimensions& dimensions) {
  std::map<std::int64_t, Verification> verifications;
  for (Query query = database.query("SELECT trial_id, toolchain_id, finished_at FROM verification");
       query.step();) {
    verifications[query.integer(0)] = {
        {}, dimensions.toolchains.at(query.integer(1)), query.text(2)};
  }
  for (Query query = database.query(
           "SELECT trial_id, name, result, message FROM verification_check ORDER BY trial_id, "
           "position");
       query.step();) {
    verifications[query.integer(0)].checks.push_back(
        {query.text(1), parse_check_result(query.text(2)).value_or(CheckResult::failed),
         query.text(3)});
  }
  for (auto& [id, verification] : verifications) {
    verification = supported(std::move(verification), [trial = id] {
      return fmt::format("the verification of trial {}", trial);
    });
  }
  return verifications;
}

std::vector<RankHead> read_rank_heads(Database& database, const Dimensions& dimensions,
                                      const Matcher& matches, const std::string& sweep) {
  std::vector<RankHead> heads;
  for (Query query = database.query(
           "SELECT rank.id, sweep_id, rank.device_id, problem_id, op, protocol_id, toolchain_id, "
           "rounds, "
           "finished_at, objective, candidates, num_candidates, top, least_rounds, "
           "asked_objective, baselines, cublas, precision_ratio FROM rank JOIN sweep ON sweep.id = "
           "sweep_id "
           "WHERE ?1 = '' OR sweep.name = ?1 ORDER BY rank.id",
           sweep);
       query.step();) {
    RowReader row(query);
    RankHead head{row.integer(), row.integer(), row.integer(), row.integer(), {}};
    head.row.id = head.id;
    RankRecord& record = head.row.record;
    record.op = row.text();
    if (!matches.device(head.device) || !matches.op(record.op) || !matches.problem(head.problem)) {
      continue;
    }
    record.problem = dimensions.problems.at(head.problem);
    record.protocol = dimensions.protocols.at(row.integer());
    record.toolchain = dimensions.toolchains.at(row.integer());
    record.rounds = row.small();
    record.finished_at = row.text();
    record.objective = parse_objective(row.text()).value_or(Objective::time);
    RankIdentity& identity = record.identity;
    identity.candidates = row.text();
    identity.num_candidates = row.integer();
    identity.top = row.small();
    identity.least_rounds = row.small();
    identity.objective = parse_objective(row.text()).value_or(Objective::time);
    identity.baselines = split(row.text());
    identity.cublas = row.text();
    identity.precision_ratio = row.real();
    const StoredDevice& device = dimensions.devices.at(head.device);
    head.row.device = device.info;
    head.row.provenance = device.provenance;
    heads.push_back(std::move(head));
  }
  return heads;
}

void read_entries(Database& database, const Dimensions& dimensions, RankHead& head) {
  std::string wrong = read_entries_unchecked(database, dimensions, head);
  if (wrong.empty()) wrong = contradiction(head.row.record);
  if (wrong.empty()) return;
  const RankRecord& record = head.row.record;
  throw DamagedRow(fmt::format("the verdict on {} {} of {}: {}", record.op, to_text(record.problem),
                               record.finished_at, wrong));
}

std::string read_entries_unchecked(Database& database, const Dimensions& dimensions,
                                   RankHead& head) {
  RankRecord& record = head.row.record;
  std::string wrong;
  std::set<std::int64_t> kernels;
  for (Query query = database.query(
           "SELECT kernel_id, registers, spill_bytes, trial_id, kernel, config, times_ns, "
           "median_ns, "
           "ratio_to_best, ratio_low, "
           "ratio_high, speedup, speedup_low, speedup_high, winner, tied, failure, eliminated, "
           "clocks_mhz, cycles_ratio_to_best, cycles_ratio_low, cycles_ratio_high, energy_j, "
           "roofline_ns, figures FROM rank_entry LEFT JOIN trial ON trial.id = trial_id "
           "WHERE rank_id = ? ORDER BY position",
           head.id);
       query.step();) {
    RowReader row(query);
    const bool has_trial = !row.is_null();
    if (has_trial) kernels.insert(query.integer(0));
    row.skip();
    CompileReport compile;
    compile.registers = row.small();
    compile.spill_bytes = row.small();
    const RankEntry& entry = record.entries.emplace_back(read_entry(row));
    if (has_trial && wrong.empty()) wrong = contradiction(entry, compile);
  }
  for (const std::int64_t id : kernels) record.kernels.push_back(dimensions.kernels.at(id));
  record.noise = read_noise(database, head.id);
  return wrong;
}

std::vector<StoredBaseline> read_stored_baselines(Database& database, const Dimensions& dimensions,
                                                  const Matcher& matches,
                                                  const std::string& sweep) {
  static const std::string sql = fmt::format(
      "SELECT baseline.id, sweep_id, baseline.device_id, problem_id, op, protocol_id, "
      "toolchain_id, baseline.name, detail, finished_at, cublas, contract_hash, row_number() OVER("
      "PARTITION BY op, problem_id, baseline.device_id, protocol_id, baseline.name "
      "ORDER BY finished_at DESC, baseline.id DESC), {}, {} "
      "FROM baseline JOIN timing ON timing.id = timing_id JOIN sweep ON sweep.id = sweep_id "
      "WHERE ?1 = '' OR sweep.name = ?1 ORDER BY baseline.id",
      kTimingColumns, kSampleColumns);
  std::vector<StoredBaseline> baselines;
  for (Query query = database.query(sql, sweep); query.step();) {
    RowReader row(query);
    StoredBaseline baseline{row.integer(), row.integer(), row.integer(), 1, {}};
    const std::int64_t problem_id = row.integer();
    BaselineRecord& record = baseline.row.record;
    record.op = row.text();
    if (!matches.device(baseline.device) || !matches.op(record.op) ||
        !matches.problem(problem_id)) {
      continue;
    }
    record.problem = dimensions.problems.at(problem_id);
    record.protocol = dimensions.protocols.at(row.integer());
    record.toolchain = dimensions.toolchains.at(row.integer());
    record.name = row.text();
    record.detail = row.text();
    record.finished_at = row.text();
    record.cublas = row.text();
    record.contract_hash = row.text();
    baseline.age = row.integer();
    record.timing = read_timing(row);
    read_samples(row, record.timing);
    record = supported(std::move(record), [&] { return fmt::format("baseline {}", baseline.id); });
    const StoredDevice& device = dimensions.devices.at(baseline.device);
    baseline.row.device = device.info;
    baseline.row.provenance = device.provenance;
    baselines.push_back(std::move(baseline));
  }
  return baselines;
}

std::vector<BaselineRow> read_baselines(Database& database, const Dimensions& dimensions,
                                        const Matcher& matches, const std::string& sweep) {
  std::vector<BaselineRow> newest;
  for (StoredBaseline& baseline : read_stored_baselines(database, dimensions, matches, sweep)) {
    if (baseline.age == 1) newest.push_back(std::move(baseline.row));
  }
  return newest;
}

}  // namespace assay
