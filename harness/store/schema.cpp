#include "store/schema.h"

#include <fmt/format.h>

#include <array>

namespace assay {
namespace {

constexpr std::int64_t kApplicationId = 0x41737379;  // "Assy"; `file` and we know our files by it

// Every text that repeats from trial to trial is a row of a small table, so that a trial and its
// unique key are a few integers. Floating-point columns may be NULL: SQLite has no NaN.
constexpr const char* kCreate = R"sql(
CREATE TABLE device(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, uuid TEXT NOT NULL, driver TEXT NOT NULL, provenance TEXT NOT NULL,
  cc INTEGER NOT NULL, sm_count INTEGER NOT NULL, smem_optin_bytes INTEGER NOT NULL,
  l2_bytes INTEGER NOT NULL, memory_bytes INTEGER NOT NULL,
  UNIQUE(uuid, name, driver, provenance)) STRICT;
CREATE TABLE toolchain(
  id INTEGER PRIMARY KEY,
  nvrtc TEXT NOT NULL, arch TEXT NOT NULL, options TEXT NOT NULL, driver TEXT NOT NULL,
  UNIQUE(nvrtc, arch, options, driver)) STRICT;
CREATE TABLE kernel(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, op TEXT NOT NULL, source_hash TEXT NOT NULL, contract_hash TEXT NOT NULL,
  UNIQUE(name, op, source_hash, contract_hash)) STRICT;
CREATE TABLE protocol(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, precision_ratio REAL NOT NULL,
  UNIQUE(name, precision_ratio)) STRICT;
CREATE TABLE problem(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE config(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;

CREATE TABLE sweep(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, yaml TEXT NOT NULL, command_line TEXT NOT NULL,
  device_id INTEGER NOT NULL REFERENCES device,
  state TEXT NOT NULL CHECK(state IN ('running', 'done', 'interrupted', 'failed')),
  started_at TEXT NOT NULL, ended_at TEXT,
  host TEXT NOT NULL, boot_id TEXT NOT NULL, pid INTEGER NOT NULL, process_start INTEGER NOT NULL
) STRICT;

CREATE TABLE trial(
  id INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES device,
  kernel_id INTEGER NOT NULL REFERENCES kernel,
  toolchain_id INTEGER NOT NULL REFERENCES toolchain,
  protocol_id INTEGER NOT NULL REFERENCES protocol,
  problem_id INTEGER NOT NULL REFERENCES problem,
  config_id INTEGER NOT NULL REFERENCES config,
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  attempts INTEGER NOT NULL, claimed_at INTEGER NOT NULL,
  status TEXT NOT NULL CHECK(status IN ('running', 'correct', 'constraints', 'compile', 'runtime',
                                        'timeout', 'correctness')),
  kind TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '',
  compile_ms REAL, cached INTEGER NOT NULL DEFAULT 0, registers INTEGER NOT NULL DEFAULT 0,
  spill_bytes INTEGER NOT NULL DEFAULT 0, stack_bytes INTEGER NOT NULL DEFAULT 0,
  static_smem_bytes INTEGER NOT NULL DEFAULT 0, cubin_hash TEXT NOT NULL DEFAULT '',
  device_ms REAL,
  median_ns REAL, ci_low_ns REAL, ci_high_ns REAL,
  stop TEXT CHECK(stop IN ('precision', 'time_limit', 'sample_limit')),
  finished_at TEXT,
  UNIQUE(device_id, kernel_id, toolchain_id, protocol_id, problem_id, config_id)) STRICT;
CREATE INDEX trial_running ON trial(sweep_id) WHERE status = 'running';
CREATE TABLE samples(
  trial_id INTEGER PRIMARY KEY REFERENCES trial ON DELETE CASCADE,
  times_ns BLOB NOT NULL) STRICT;
CREATE TABLE validation(
  trial_id INTEGER PRIMARY KEY REFERENCES trial ON DELETE CASCADE,
  relative_error REAL, relative_limit REAL, worst_element_ratio REAL,
  elements INTEGER NOT NULL) STRICT;
CREATE TABLE sweep_trial(
  trial_id INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  PRIMARY KEY(trial_id, sweep_id)) STRICT, WITHOUT ROWID;

CREATE TABLE baseline(
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  device_id INTEGER NOT NULL REFERENCES device,
  op TEXT NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem,
  protocol_id INTEGER NOT NULL REFERENCES protocol,
  toolchain_id INTEGER NOT NULL REFERENCES toolchain,
  name TEXT NOT NULL, detail TEXT NOT NULL,
  median_ns REAL, ci_low_ns REAL, ci_high_ns REAL,
  stop TEXT NOT NULL CHECK(stop IN ('precision', 'time_limit', 'sample_limit')),
  times_ns BLOB NOT NULL,
  finished_at TEXT NOT NULL) STRICT;
CREATE TABLE rank(
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  device_id INTEGER NOT NULL REFERENCES device,
  op TEXT NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem,
  protocol_id INTEGER NOT NULL REFERENCES protocol,
  rounds INTEGER NOT NULL,
  finished_at TEXT NOT NULL) STRICT;
CREATE TABLE rank_entry(
  rank_id INTEGER NOT NULL REFERENCES rank ON DELETE CASCADE,
  position INTEGER NOT NULL,
  kernel TEXT NOT NULL, config TEXT NOT NULL,
  median_ns REAL,
  ratio_to_best REAL, ratio_low REAL, ratio_high REAL,
  speedup REAL, speedup_low REAL, speedup_high REAL,
  winner INTEGER NOT NULL, tied INTEGER NOT NULL,
  failure TEXT NOT NULL,
  times_ns BLOB NOT NULL,
  PRIMARY KEY(rank_id, position)) STRICT, WITHOUT ROWID;
)sql";

// Adds the state of the GPU to each time, the noise floor to each rank, and new reasons to stop.
// SQLite cannot change a CHECK, so the column `stop` is made anew. A table that others refer to is
// never dropped.
constexpr const char* kAddInstrument = R"sql(
ALTER TABLE trial ADD COLUMN stop_reason TEXT
  CHECK(stop_reason IN ('precision', 'noise', 'raced', 'time_limit', 'sample_limit'));
UPDATE trial SET stop_reason = stop;
ALTER TABLE trial DROP COLUMN stop;
ALTER TABLE trial RENAME COLUMN stop_reason TO stop;
ALTER TABLE trial ADD COLUMN clock_mhz REAL;
ALTER TABLE trial ADD COLUMN throttle_reasons INTEGER;
ALTER TABLE trial ADD COLUMN power_w REAL;
ALTER TABLE trial ADD COLUMN temperature_c REAL;
ALTER TABLE samples ADD COLUMN clocks_mhz BLOB;

ALTER TABLE baseline ADD COLUMN stop_reason TEXT NOT NULL DEFAULT 'sample_limit'
  CHECK(stop_reason IN ('precision', 'noise', 'raced', 'time_limit', 'sample_limit'));
UPDATE baseline SET stop_reason = stop;
ALTER TABLE baseline DROP COLUMN stop;
ALTER TABLE baseline RENAME COLUMN stop_reason TO stop;
ALTER TABLE baseline ADD COLUMN clock_mhz REAL;
ALTER TABLE baseline ADD COLUMN throttle_reasons INTEGER;
ALTER TABLE baseline ADD COLUMN power_w REAL;
ALTER TABLE baseline ADD COLUMN temperature_c REAL;
ALTER TABLE baseline ADD COLUMN clocks_mhz BLOB;

CREATE TABLE rank_noise(
  rank_id INTEGER PRIMARY KEY REFERENCES rank ON DELETE CASCADE,
  kernel TEXT NOT NULL, config TEXT NOT NULL,
  ratio REAL, ratio_low REAL, ratio_high REAL,
  times_ns BLOB NOT NULL) STRICT;
)sql";

// Adds to each time how many samples were throttled, and the least time possible. Adds verdicts by
// energy.
constexpr const char* kAddObjective = R"sql(
ALTER TABLE trial ADD COLUMN stop_reason TEXT
  CHECK(stop_reason IN ('precision', 'noise', 'raced', 'time_limit', 'sample_limit', 'unsettled'));
UPDATE trial SET stop_reason = stop;
ALTER TABLE trial DROP COLUMN stop;
ALTER TABLE trial RENAME COLUMN stop_reason TO stop;
ALTER TABLE trial ADD COLUMN num_throttled INTEGER;
ALTER TABLE trial ADD COLUMN roofline_ns REAL;
ALTER TABLE baseline ADD COLUMN stop_reason TEXT NOT NULL DEFAULT 'sample_limit'
  CHECK(stop_reason IN ('precision', 'noise', 'raced', 'time_limit', 'sample_limit', 'unsettled'));
UPDATE baseline SET stop_reason = stop;
ALTER TABLE baseline DROP COLUMN stop;
ALTER TABLE baseline RENAME COLUMN stop_reason TO stop;
ALTER TABLE baseline ADD COLUMN num_throttled INTEGER;
ALTER TABLE baseline ADD COLUMN roofline_ns REAL;

ALTER TABLE rank ADD COLUMN objective TEXT NOT NULL DEFAULT 'time'
  CHECK(objective IN ('time', 'energy', 'edp'));
ALTER TABLE rank_entry ADD COLUMN eliminated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rank_entry ADD COLUMN clocks_mhz BLOB;
ALTER TABLE rank_entry ADD COLUMN cycles_ratio_to_best REAL;
ALTER TABLE rank_entry ADD COLUMN cycles_ratio_low REAL;
ALTER TABLE rank_entry ADD COLUMN cycles_ratio_high REAL;
ALTER TABLE rank_entry ADD COLUMN energy_j REAL;
ALTER TABLE rank_entry ADD COLUMN roofline_ns REAL;
)sql";

// Timings of trials and baselines in one table, further figures of a trial in another; a verdict
// with what it is of; and which sweeps came to the end of a problem. A timing of an older file has
// its trial's number, or follows them.
constexpr const char* kAddIdentity = R"sql(
CREATE TABLE timing(
  id INTEGER PRIMARY KEY,
  median_ns REAL, ci_low_ns REAL, ci_high_ns REAL,
  stop TEXT NOT NULL CHECK(stop IN ('precision', 'noise', 'raced', 'time_limit', 'sample_limit',
                                    'unsettled')),
  clock_mhz REAL, throttle_reasons INTEGER, power_w REAL, temperature_c REAL,
  num_throttled INTEGER, roofline_ns REAL, time_limit_s REAL,
  times_ns BLOB NOT NULL, clocks_mhz BLOB) STRICT;
INSERT INTO timing SELECT trial.id, median_ns, ci_low_ns, ci_high_ns, stop, clock_mhz,
  throttle_reasons, power_w, temperature_c, num_throttled, roofline_ns, NULL,
  coalesce(times_ns, x''), clocks_mhz
  FROM trial LEFT JOIN samples ON trial_id = trial.id WHERE stop IS NOT NULL;
ALTER TABLE trial ADD COLUMN timing_id INTEGER REFERENCES timing;
UPDATE trial SET timing_id = id WHERE stop IS NOT NULL;
DROP TABLE samples;
ALTER TABLE trial DROP COLUMN median_ns;
ALTER TABLE trial DROP COLUMN ci_low_ns;
ALTER TABLE trial DROP COLUMN ci_high_ns;
ALTER TABLE trial DROP COLUMN stop;
ALTER TABLE trial DROP COLUMN clock_mhz;
ALTER TABLE trial DROP COLUMN throttle_reasons;
ALTER TABLE trial DROP COLUMN power_w;
ALTER TABLE trial DROP COLUMN temperature_c;
ALTER TABLE trial DROP COLUMN num_throttled;
ALTER TABLE trial DROP COLUMN roofline_ns;
CREATE TABLE measurement(
  trial_id INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
  name TEXT NOT NULL, value REAL, unit TEXT NOT NULL,
  PRIMARY KEY(trial_id, name)) STRICT, WITHOUT ROWID;

INSERT INTO timing SELECT (SELECT coalesce(max(id), 0) FROM trial) + baseline.id, median_ns,
  ci_low_ns, ci_high_ns, stop, clock_mhz, throttle_reasons, power_w, temperature_c, num_throttled,
  roofline_ns, NULL, times_ns, clocks_mhz FROM baseline;
ALTER TABLE baseline ADD COLUMN timing_id INTEGER REFERENCES timing;
UPDATE baseline SET timing_id = (SELECT coalesce(max(id), 0) FROM trial) + id;
ALTER TABLE baseline ADD COLUMN cublas TEXT NOT NULL DEFAULT '';
ALTER TABLE baseline ADD COLUMN contract_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE baseline DROP COLUMN median_ns;
ALTER TABLE baseline DROP COLUMN ci_low_ns;
ALTER TABLE baseline DROP COLUMN ci_high_ns;
ALTER TABLE baseline DROP COLUMN stop;
ALTER TABLE baseline DROP COLUMN times_ns;
ALTER TABLE baseline DROP COLUMN clock_mhz;
ALTER TABLE baseline DROP COLUMN throttle_reasons;
ALTER TABLE baseline DROP COLUMN power_w;
ALTER TABLE baseline DROP COLUMN temperature_c;
ALTER TABLE baseline DROP COLUMN clocks_mhz;
ALTER TABLE baseline DROP COLUMN num_throttled;
ALTER TABLE baseline DROP COLUMN roofline_ns;

ALTER TABLE rank ADD COLUMN candidates TEXT NOT NULL DEFAULT '';
ALTER TABLE rank ADD COLUMN num_candidates INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rank ADD COLUMN top INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rank ADD COLUMN least_rounds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rank ADD COLUMN asked_objective TEXT NOT NULL DEFAULT 'time'
  CHECK(asked_objective IN ('time', 'energy', 'edp'));
UPDATE rank SET asked_objective = objective;
ALTER TABLE rank ADD COLUMN baselines TEXT NOT NULL DEFAULT '';
ALTER TABLE rank ADD COLUMN cublas TEXT NOT NULL DEFAULT '';
ALTER TABLE rank ADD COLUMN toolchain_id INTEGER REFERENCES toolchain;
ALTER TABLE rank_entry ADD COLUMN trial_id INTEGER REFERENCES trial;
CREATE TABLE screened(
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  op TEXT NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem,
  PRIMARY KEY(sweep_id, op, problem_id)) STRICT, WITHOUT ROWID;
)sql";

// What an output was compared with.
constexpr const char* kAddReference = R"sql(
ALTER TABLE validation ADD COLUMN reference TEXT NOT NULL DEFAULT '';
)sql";

// To how much the ratios of a verdict had to be known; it was one number before.
constexpr const char* kAddPrecision = R"sql(
ALTER TABLE rank ADD COLUMN precision_ratio REAL NOT NULL DEFAULT 0.0008;
)sql";

// What `assay verify` found of a trial.
constexpr const char* kAddVerification = R"sql(
CREATE TABLE verification(
  trial_id INTEGER PRIMARY KEY REFERENCES trial ON DELETE CASCADE,
  toolchain_id INTEGER NOT NULL REFERENCES toolchain,
  finished_at TEXT NOT NULL) STRICT;
CREATE TABLE verification_check(
  trial_id INTEGER NOT NULL REFERENCES verification ON DELETE CASCADE,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  result TEXT NOT NULL CHECK(result IN ('passed', 'failed', 'skipped')),
  message TEXT NOT NULL,
  PRIMARY KEY(trial_id, position)) STRICT, WITHOUT ROWID;
)sql";

// What the launches that prepare cost.
constexpr const char* kAddPrepared = R"sql(
ALTER TABLE trial ADD COLUMN prepare_ns REAL;
ALTER TABLE trial ADD COLUMN prepared_bytes INTEGER;
)sql";

// Whose times a trial has that was not run, for another was the same code.
constexpr const char* kAddSameAs = R"sql(
ALTER TABLE trial ADD COLUMN same_as TEXT NOT NULL DEFAULT '';
)sql";

// Objectives that users write, and what their names stand for.
constexpr const char* kAddMetrics = R"sql(
ALTER TABLE rank ADD COLUMN any_objective TEXT NOT NULL DEFAULT 'time';
UPDATE rank SET any_objective = objective;
ALTER TABLE rank DROP COLUMN objective;
ALTER TABLE rank RENAME COLUMN any_objective TO objective;
ALTER TABLE rank ADD COLUMN any_objective TEXT NOT NULL DEFAULT 'time';
UPDATE rank SET any_objective = asked_objective;
ALTER TABLE rank DROP COLUMN asked_objective;
ALTER TABLE rank RENAME COLUMN any_objective TO asked_objective;
ALTER TABLE rank_entry ADD COLUMN figures TEXT NOT NULL DEFAULT '';
)sql";

// A word of its own for what was compiled and not run, which was called correct.
constexpr const char* kAddCompiled = R"sql(
ALTER TABLE trial ADD COLUMN any_status TEXT NOT NULL DEFAULT 'running'
  CHECK(any_status IN ('running', 'correct', 'compiled', 'constraints', 'compile', 'runtime',
                       'timeout', 'correctness'));
UPDATE trial SET any_status = status;
UPDATE trial SET any_status = 'compiled', kind = '', message = ''
  WHERE status = 'correct' AND kind = 'compiled' AND timing_id IS NULL;
DROP INDEX trial_running;
ALTER TABLE trial DROP COLUMN status;
ALTER TABLE trial RENAME COLUMN any_status TO status;
CREATE INDEX trial_running ON trial(sweep_id) WHERE status = 'running';
)sql";

constexpr std::array kSteps = {kCreate,       kAddInstrument, kAddObjective,    kAddIdentity,
                               kAddReference, kAddPrecision,  kAddVerification, kAddPrepared,
                               kAddSameAs,    kAddMetrics,    kAddCompiled};

std::int64_t schema_of(Database& database) { return database.integer("PRAGMA user_version"); }

/// What a file says that it is.
struct Header {
  std::int64_t application, schema, num_tables;

  bool is_ours() const { return application == kApplicationId; }
  bool is_empty() const { return application == 0 && num_tables == 0; }
};

/// All of it is read at one moment, for another process may be making the file.
Header read_header(Database& database) {
  const Transaction transaction(database, Transaction::Mode::read);
  return {database.integer("PRAGMA application_id"), schema_of(database),
          database.integer("SELECT count(*) FROM sqlite_schema")};
}

void refuse_foreign(const Database& database, const Header& header) {
  if (header.is_ours()) return;
  throw UsageError(fmt::format("{} is another program's database, not an assay database",
                               database.path().string()));
}

/// The schema's number is written together with the application's, and it counts from 1.
void refuse_unknown(const Database& database, const Header& header, std::size_t newest) {
  if (header.schema > static_cast<std::int64_t>(newest)) {
    throw Error(fmt::format("{} was written by a newer assay (schema {}; this one knows {})",
                            database.path().string(), header.schema, newest));
  }
  if (header.schema < 1 && header.is_ours()) {
    throw Error(fmt::format("{} is damaged: no assay wrote its schema {}", database.path().string(),
                            header.schema));
  }
}

}  // namespace

std::span<const char* const> schema_steps() { return kSteps; }

void migrate(Database& database, std::span<const char* const> steps) {
  const Header found = read_header(database);
  if (!found.is_empty()) refuse_foreign(database, found);
  refuse_unknown(database, found, steps.size());
  if (found.schema < static_cast<std::int64_t>(steps.size())) {
    // All steps at once: who reads meanwhile sees a file without tables, or a whole one.
    Transaction transaction(database, Transaction::Mode::write);
    // Read again under the lock: another process may have migrated meanwhile.
    const auto schema = static_cast<std::size_t>(schema_of(database));
    if (schema < steps.size()) {
      for (const char* step : steps.subspan(schema)) database.exec(step);
      database.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                kApplicationId, steps.size()));
    }
    transaction.commit();
  }
  refuse_unknown(database, read_header(database), steps.size());
}

void require_newest_schema(Database& database, std::span<const char* const> steps) {
  const Header found = read_header(database);
  if (found.is_empty()) {
    throw UsageError(fmt::format("{} is empty, not an assay database", database.path().string()));
  }
  refuse_foreign(database, found);
  refuse_unknown(database, found, steps.size());
  if (found.schema < static_cast<std::int64_t>(steps.size())) {
    throw Error(fmt::format(
        "{} was written by an older assay (schema {}; this one knows {}); `assay db migrate` "
        "brings it up to date",
        database.path().string(), found.schema, steps.size()));
  }
}

}  // namespace assay
