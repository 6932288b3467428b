#include "store/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::int64_t kApplicationId = 0x41737379;  // "Assy"; `file` and we know our files by it

// Counts the changes of the tables. A file of another number is refused, and its results are not
// lost: the program that wrote the file exports them as recordings, whose format stays.
constexpr std::int64_t kSchema = 11;

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
CREATE TABLE screened(
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  op TEXT NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem,
  PRIMARY KEY(sweep_id, op, problem_id)) STRICT, WITHOUT ROWID;

CREATE TABLE timing(
  id INTEGER PRIMARY KEY,
  median_ns REAL, ci_low_ns REAL, ci_high_ns REAL,
  stop TEXT NOT NULL CHECK(stop IN ('precision', 'noise', 'raced', 'time_limit', 'sample_limit',
                                    'unsettled')),
  clock_mhz REAL, throttle_reasons INTEGER, power_w REAL, temperature_c REAL,
  num_throttled INTEGER NOT NULL, roofline_ns REAL, time_limit_s REAL,
  times_ns BLOB NOT NULL, clocks_mhz BLOB NOT NULL) STRICT;
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
  status TEXT NOT NULL CHECK(status IN ('running', 'correct', 'compiled', 'constraints', 'compile',
                                        'runtime', 'timeout', 'correctness')),
  kind TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '',
  compile_ms REAL, cached INTEGER NOT NULL DEFAULT 0, registers INTEGER NOT NULL DEFAULT 0,
  spill_bytes INTEGER NOT NULL DEFAULT 0, stack_bytes INTEGER NOT NULL DEFAULT 0,
  static_smem_bytes INTEGER NOT NULL DEFAULT 0, cubin_hash TEXT NOT NULL DEFAULT '',
  device_ms REAL, prepare_ns REAL, prepared_bytes INTEGER, same_as TEXT NOT NULL DEFAULT '',
  timing_id INTEGER REFERENCES timing,
  finished_at TEXT,
  UNIQUE(device_id, kernel_id, toolchain_id, protocol_id, problem_id, config_id)) STRICT;
CREATE INDEX trial_running ON trial(sweep_id) WHERE status = 'running';
CREATE TABLE validation(
  trial_id INTEGER PRIMARY KEY REFERENCES trial ON DELETE CASCADE,
  relative_error REAL, relative_limit REAL, worst_element_ratio REAL,
  elements INTEGER NOT NULL, reference TEXT NOT NULL) STRICT;
CREATE TABLE measurement(
  trial_id INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
  name TEXT NOT NULL, value REAL, unit TEXT NOT NULL,
  PRIMARY KEY(trial_id, name)) STRICT, WITHOUT ROWID;
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
CREATE TABLE sweep_trial(
  trial_id INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  PRIMARY KEY(trial_id, sweep_id)) STRICT, WITHOUT ROWID;
CREATE INDEX trials_of_sweep ON sweep_trial(sweep_id);

CREATE TABLE baseline(
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  device_id INTEGER NOT NULL REFERENCES device,
  op TEXT NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem,
  protocol_id INTEGER NOT NULL REFERENCES protocol,
  toolchain_id INTEGER NOT NULL REFERENCES toolchain,
  timing_id INTEGER NOT NULL REFERENCES timing,
  name TEXT NOT NULL, detail TEXT NOT NULL, cublas TEXT NOT NULL, contract_hash TEXT NOT NULL,
  finished_at TEXT NOT NULL) STRICT;
CREATE TABLE rank(
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweep,
  device_id INTEGER NOT NULL REFERENCES device,
  op TEXT NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem,
  protocol_id INTEGER NOT NULL REFERENCES protocol,
  toolchain_id INTEGER NOT NULL REFERENCES toolchain,
  rounds INTEGER NOT NULL,
  objective TEXT NOT NULL,
  candidates TEXT NOT NULL, num_candidates INTEGER NOT NULL,
  top INTEGER NOT NULL, least_rounds INTEGER NOT NULL, asked_objective TEXT NOT NULL,
  precision_ratio REAL NOT NULL, baselines TEXT NOT NULL, cublas TEXT NOT NULL,
  finished_at TEXT NOT NULL) STRICT;
CREATE TABLE rank_entry(
  rank_id INTEGER NOT NULL REFERENCES rank ON DELETE CASCADE,
  position INTEGER NOT NULL,
  trial_id INTEGER REFERENCES trial,
  kernel TEXT NOT NULL, config TEXT NOT NULL,
  median_ns REAL,
  ratio_to_best REAL, ratio_low REAL, ratio_high REAL,
  speedup REAL, speedup_low REAL, speedup_high REAL,
  cycles_ratio_to_best REAL, cycles_ratio_low REAL, cycles_ratio_high REAL,
  energy_j REAL, roofline_ns REAL, figures TEXT NOT NULL,
  winner INTEGER NOT NULL, tied INTEGER NOT NULL, eliminated INTEGER NOT NULL,
  failure TEXT NOT NULL,
  times_ns BLOB NOT NULL, clocks_mhz BLOB NOT NULL,
  PRIMARY KEY(rank_id, position)) STRICT, WITHOUT ROWID;
CREATE TABLE rank_noise(
  rank_id INTEGER PRIMARY KEY REFERENCES rank ON DELETE CASCADE,
  kernel TEXT NOT NULL, config TEXT NOT NULL,
  ratio REAL, ratio_low REAL, ratio_high REAL,
  times_ns BLOB NOT NULL) STRICT;
)sql";

struct View {
  const char* name;
  const char* definition;
};

/// Tells a view of ours, of this version or an older one, from somebody's own.
constexpr std::string_view kOurs = " AS -- of assay";

// For people with sqlite3: this program reads none of them. So they are no part of the schema's
// number, and a file that was made before them gets them when it is opened for writing.
constexpr std::array<View, 2> kViews{{
    {"best", R"sql(
SELECT rank_id, op, kernel, problem, gpu, protocol, objective, config, time_ns, baseline,
       baseline_time_ns, speedup, speedup_low, speedup_high, rounds, verified_at, source_hash,
       provenance, measured_at
FROM (
  SELECT rank.id AS rank_id, rank.op, won.kernel, problem.text AS problem, device.name AS gpu,
         protocol.name AS protocol, rank.objective, won.config, won.median_ns AS time_ns,
         base.config AS baseline, base.median_ns AS baseline_time_ns,
         iif(base.config IS NULL, NULL, won.speedup) AS speedup,
         iif(won.speedup_high > 0, won.speedup_low, NULL) AS speedup_low,
         iif(won.speedup_high > 0, won.speedup_high, NULL) AS speedup_high,
         rank.rounds, verification.finished_at AS verified_at, kernel.source_hash,
         device.provenance, rank.finished_at AS measured_at,
         row_number() OVER (
           PARTITION BY rank.op, rank.problem_id, device.name, device.provenance, protocol.name,
                        rank.objective
           ORDER BY rank.finished_at DESC, rank.id DESC) AS age
  FROM rank
  JOIN rank_entry AS won ON won.rank_id = rank.id AND won.winner
  JOIN device ON device.id = rank.device_id
  JOIN problem ON problem.id = rank.problem_id
  JOIN protocol ON protocol.id = rank.protocol_id
  LEFT JOIN rank_entry AS base ON base.rank_id = rank.id AND base.position = (
    SELECT position FROM rank_entry WHERE rank_id = rank.id AND kernel = '' AND failure = ''
    ORDER BY median_ns, position LIMIT 1)
  LEFT JOIN trial ON trial.id = won.trial_id
  LEFT JOIN kernel ON kernel.id = trial.kernel_id
  LEFT JOIN verification ON verification.trial_id = won.trial_id AND NOT EXISTS (
    SELECT 1 FROM verification_check AS failed
    WHERE failed.trial_id = won.trial_id AND failed.result = 'failed'))
WHERE age = 1)sql"},
    // A configuration is `NAME=value,NAME=value`, and becomes a JSON list of such texts. A value is
    // an integer where the text is one.
    {"best_param", R"sql(
SELECT rank_id, name, iif(CAST(CAST(text AS INTEGER) AS TEXT) = text, CAST(text AS INTEGER), text)
         AS value
FROM (
  SELECT rank_id, substr(part.value, 1, instr(part.value, '=') - 1) AS name,
         substr(part.value, instr(part.value, '=') + 1) AS text
  FROM best, json_each('[' || replace(json_quote(config), ',', '","') || ']') AS part
  WHERE config <> ''))sql"},
}};

/// As SQLite keeps it.
std::string text_of(const View& view) {
  return fmt::format("CREATE VIEW {}{}{}", view.name, kOurs, view.definition);
}

/// Whether the file lacks the view or has an older one. Another table or view of this name is
/// somebody's own.
bool is_due(Database& database, const View& view) {
  return !database
              .query(
                  "SELECT 1 FROM sqlite_schema WHERE name = ? AND (instr(sql, ?) = 0 OR sql = ?)",
                  view.name, std::string(kOurs), text_of(view))
              .step();
}

void make_views(Database& database) {
  for (const View& view : kViews) {
    if (!is_due(database, view)) continue;
    database.exec(fmt::format("DROP VIEW IF EXISTS {}; {}", view.name, text_of(view)));
  }
}

/// What a file says that it is.
struct Header {
  std::int64_t application, schema, num_tables;

  bool is_empty() const { return application == 0 && num_tables == 0; }
};

Header header_of(Database& database) {
  return {database.integer("PRAGMA application_id"), database.integer("PRAGMA user_version"),
          database.integer("SELECT count(*) FROM sqlite_schema")};
}

/// Reads all of it at one moment, for another process may be making the file.
Header read_header(Database& database) {
  const Transaction transaction(database, Transaction::Mode::read);
  return header_of(database);
}

}  // namespace

void make_tables(Database& database) {
  if (read_header(database).is_empty()) {
    // All at once: who reads meanwhile sees a file without tables, or a whole one.
    Transaction transaction(database, Transaction::Mode::write);
    if (header_of(database).is_empty()) {  // another process may have made it meanwhile
      database.exec(kCreate);
      make_views(database);
      database.exec(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                kApplicationId, kSchema));
    }
    transaction.commit();
  }
  require_tables(database);
  const auto is_view_due = [&](const View& view) { return is_due(database, view); };
  if (std::ranges::none_of(kViews, is_view_due)) return;
  Transaction transaction(database, Transaction::Mode::write);
  make_views(database);
  transaction.commit();
}

void require_tables(Database& database) {
  const Header found = read_header(database);
  const std::string name = database.path().string();
  if (found.is_empty()) throw UsageError(name + " is empty, not an assay database");
  if (found.application != kApplicationId) {
    throw UsageError(name + " is another program's database, not an assay database");
  }
  // The schema's number is written together with the application's, and it counts from 1.
  if (found.schema < 1) {
    throw Error("{} is damaged: no assay wrote its schema {}", name, found.schema);
  }
  if (found.schema == kSchema) return;
  throw Error(
      "{} was written by {} assay (schema {}; this one knows {}); name another file with --db and "
      "sweep anew, or import what `assay export --format recording` of that assay writes",
      name, found.schema > kSchema ? "a newer" : "an older", found.schema, kSchema);
}

}  // namespace assay
