#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "store/impl.h"
#include "store/owner.h"
#include "store/rows.h"
#include "store/schema.h"
#include "store/trial_rows.h"

namespace assay {
namespace {

// After so many processes have ended while they ran a trial, the trial is taken for the cause.
constexpr std::int64_t kMaxAttempts = 2;

// Readers of a WAL database never wait for its writer. Changing to WAL is the one step whose lock
// SQLite does not wait for, hence the loop; where a file system cannot do it the rollback journal
// stays and all else works.
void use_wal(Database& database, std::chrono::milliseconds lock_timeout) {
  constexpr std::chrono::milliseconds kPause(5);
  for (auto waited = std::chrono::milliseconds(0);; waited += kPause) {
    try {
      database.handle().execAndGet("PRAGMA journal_mode = WAL");
      return;
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_BUSY || waited >= lock_timeout) throw;
      std::this_thread::sleep_for(kPause);
    }
  }
}

void prepare(Database& database) {
  database.exec("PRAGMA foreign_keys = ON");
  // With WAL, NORMAL may lose the last transactions in a power cut but never damages the file;
  // end_sweep makes everything durable.
  database.exec("PRAGMA synchronous = NORMAL");
}

/// While it lives, SQLite does not look up again what rows of an import refer to, which are rows
/// that the import itself has just found or added, nor whether words are among those allowed, which
/// are texts of enumerations. It also keeps more pages in memory.
class BulkLoad {
 public:
  explicit BulkLoad(Database& database)
      : database_(database), cache_size_(database.integer("PRAGMA cache_size")) {
    database_.exec(
        "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; "
        "PRAGMA cache_size = -65536");
  }
  BulkLoad(const BulkLoad&) = delete;
  BulkLoad& operator=(const BulkLoad&) = delete;
  ~BulkLoad() {
    database_.handle().tryExec(
        fmt::format("PRAGMA foreign_keys = ON; PRAGMA ignore_check_constraints = OFF; "
                    "PRAGMA cache_size = {}",
                    cache_size_));
  }

 private:
  Database& database_;
  std::int64_t cache_size_;
};

bool is_recording(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".jsonl") || name.ends_with(".jsonl.gz") || is_tuner_file(path);
}

// Whether the sweep that claimed a trial may still finish it.
bool is_running(Database& database, const TrialState& trial) {
  Query row = database.query(
      "SELECT host, boot_id, pid, process_start FROM sweep WHERE id = ? AND state = 'running'",
      trial.sweep_id);
  if (!row.step()) return false;
  return is_alive({row.text(0), row.text(1), row.integer(2), row.integer(3)}, trial.age_seconds);
}

bool is_linked(Database& database, std::int64_t sweep_id, std::int64_t trial_id) {
  return database
      .query("SELECT 1 FROM sweep_trial WHERE trial_id = ? AND sweep_id = ?", trial_id, sweep_id)
      .step();
}

}  // namespace

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::filesystem::path& Store::path() const { return impl_->path; }

Store Store::open(const std::filesystem::path& path, std::chrono::milliseconds lock_timeout) {
  if (is_recording(path)) {
    throw UsageError(
        "{}: expected the name of a database, such as results/assay.db, found that of a recording",
        path.string());
  }
  auto impl = std::make_unique<Impl>(Impl{Database::open(path, lock_timeout), path});
  Database& database = impl->database;
  database.guarded([&] {
    prepare(database);
    make_tables(database);
    use_wal(database, lock_timeout);
  });
  return Store(std::move(impl));
}

Store Store::open_readonly(const std::filesystem::path& path) {
  if (!path.empty() && !std::filesystem::exists(path)) {
    throw UsageError("there is no database {}; assay sweep makes one", path.string());
  }
  if (is_recording(path)) {
    Store store = in_memory();
    store.import(read_portions(path));
    store.impl_->path = path;
    return store;
  }
  auto impl = std::make_unique<Impl>(Impl{Database::open_readonly(path), path});
  impl->database.guarded([&] { require_tables(impl->database); });
  return Store(std::move(impl));
}

Store Store::in_memory() {
  auto impl = std::make_unique<Impl>(Impl{Database::in_memory(), ":memory:"});
  impl->database.guarded([&] {
    prepare(impl->database);
    make_tables(impl->database);
  });
  return Store(std::move(impl));
}

std::int64_t Store::begin_sweep(const std::string& name, const std::string& yaml,
                                const std::string& command_line, const DeviceInfo& device,
                                const std::string& provenance) {
  return impl_->write([&] {
    return impl_->add_sweep(name, yaml, command_line,
                            device_id(impl_->database, device, provenance), "running");
  });
}

void Store::end_sweep(std::int64_t sweep_id, const std::string& state) {
  Database& database = impl_->database;
  database.guarded([&] {
    // This commit syncs the WAL, and with it all that was committed before.
    database.exec("PRAGMA synchronous = FULL");
    impl_->write([&] {
      database.run(
          "UPDATE sweep SET state = ?, ended_at = strftime('%Y-%m-%dT%H:%M:%SZ') WHERE id = ?",
          state, sweep_id);
      database.run("DELETE FROM trial WHERE sweep_id = ? AND status = 'running'", sweep_id);
    });
    database.exec("PRAGMA synchronous = NORMAL");
    // Moves the WAL into the file as far as its readers allow. To wait for a reader would keep all
    // writers waiting, too.
    database.exec("PRAGMA wal_checkpoint(PASSIVE)");
  });
}

Claim Store::claim(std::int64_t sweep_id, const TrialKey& key) {
  Database& database = impl_->database;
  return database.guarded([&] {
    const std::int64_t device = impl_->device_of(sweep_id);
    // When a sweep is run again, most of its trials are done. They cost no write.
    const auto known = trial_state(database, device, key_ids(database, key, IfNew::leave));
    if (known && known->done() && is_linked(database, sweep_id, known->id)) return Claim::done;

    return impl_->write([&] {
      const KeyIds ids = key_ids(database, key, IfNew::add);
      const auto found = trial_state(database, device, ids);
      if (!found) {
        database.run(
            "INSERT INTO trial(device_id, kernel_id, toolchain_id, protocol_id, problem_id, "
            "config_id, sweep_id, attempts, claimed_at, status) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, 1, unixepoch(), 'running')",
            device, ids.kernel, ids.toolchain, ids.protocol, ids.problem, ids.config, sweep_id);
        return Claim::fresh;
      }
      if (found->done()) {
        impl_->link(sweep_id, found->id);
        return Claim::done;
      }
      if (is_running(database, *found)) return Claim::taken;
      if (found->attempts < kMaxAttempts) {
        database.run(
            "UPDATE trial SET sweep_id = ?, attempts = attempts + 1, claimed_at = unixepoch() "
            "WHERE id = ?",
            sweep_id, found->id);
        return Claim::fresh;
      }
      TrialRecord record{key, {}, {Status::runtime, "interrupted"}, {}};
      record.outcome.message = fmt::format(
          "{} sweeps ended without a word while they ran this configuration", found->attempts);
      impl_->put_trial(sweep_id, device, ids, record);
      return Claim::done;
    });
  });
}

void Store::finish(std::int64_t sweep_id, const TrialRecord& record) {
  impl_->write_trial(sweep_id, record, Impl::IfDone::keep);
}

void Store::release(std::int64_t sweep_id, const TrialKey& key) {
  impl_->write([&] {
    const auto found = impl_->state_of(sweep_id, key);
    if (found && !found->done() && found->sweep_id == sweep_id) {
      impl_->database.run("DELETE FROM trial WHERE id = ?", found->id);
    }
  });
}

std::vector<std::optional<TrialRecord>> Store::reuse(std::int64_t sweep_id,
                                                     std::span<const TrialKey> keys) {
  static const std::string sql = select_trials("substr(message, 1, 2000)", "trial.id = ?");
  Database& database = impl_->database;
  return database.guarded([&] {
    std::vector<std::optional<TrialRecord>> found(keys.size());
    std::vector<std::int64_t> unlisted;
    const std::int64_t device = impl_->device_of(sweep_id);
    {
      const Transaction transaction(database, Transaction::Mode::read);
      std::optional<Dimensions> dimensions;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto state = trial_state(database, device, key_ids(database, keys[i], IfNew::leave));
        if (!state || !state->done()) continue;
        if (!dimensions) dimensions.emplace(database);
        Query row = database.query(sql, state->id);
        if (!row.step()) continue;
        TrialRow trial = read_short_trial(row, *dimensions);
        trial.record.measurements = read_measurements(database, trial.id);
        found[i] = std::move(trial.record);
        if (!is_linked(database, sweep_id, state->id)) unlisted.push_back(state->id);
      }
    }
    if (unlisted.empty()) return found;
    impl_->write([&] {
      for (const std::int64_t id : unlisted) impl_->link(sweep_id, id);
    });
    return found;
  });
}

void Store::replace(std::int64_t sweep_id, const TrialRecord& record, IfWrong if_wrong) {
  impl_->write_trial(
      sweep_id, record,
      if_wrong == IfWrong::keep ? Impl::IfDone::replace_unless_wrong : Impl::IfDone::replace);
}

void Store::end_screening(std::int64_t sweep_id, const std::string& op, const Problem& problem) {
  impl_->write([&] { impl_->put_screened(sweep_id, op, problem); });
}

bool Store::is_ranked(std::int64_t sweep_id, const RankRecord& asked) const {
  Database& database = impl_->database;
  return impl_->read([&](const Dimensions& dimensions) {
    const std::int64_t device = impl_->device_of(sweep_id);
    for (const RankHead& head : read_rank_heads(dimensions)) {
      const RankRecord& record = head.row.record;
      if (head.device != device || record.op != asked.op || record.problem != asked.problem ||
          record.protocol != asked.protocol || !record.identity.answers(asked.identity)) {
        continue;
      }
      Query holds = database.query(
          "SELECT max(winner) AND NOT max(instr(failure, ?) = 1) FROM rank_entry WHERE rank_id = ?",
          std::string(kMachineFailed), head.row.id);
      if (holds.step() && holds.integer(0) != 0) return true;
    }
    return false;
  });
}

void Store::add_baseline(std::int64_t sweep_id, const BaselineRecord& record) {
  impl_->write([&] { impl_->put_baseline(sweep_id, impl_->device_of(sweep_id), record); });
}

void Store::add_rank(std::int64_t sweep_id, const RankRecord& record) {
  impl_->write([&] { impl_->put_rank(sweep_id, impl_->device_of(sweep_id), record); });
}

bool Store::add_verification(const TrialRow& trial, const Verification& verification) {
  return impl_->write([&] {
    const auto id = impl_->number_now(trial);
    if (!id) return false;
    impl_->forget_verification(*id);
    impl_->put_verification(*id, verification);
    return true;
  });
}

bool Store::add_measurements(const TrialRow& trial, const std::vector<Measurement>& measurements) {
  if (measurements.empty()) return true;
  return impl_->write([&] {
    const auto id = impl_->number_now(trial);
    if (id) impl_->replace_measurements(*id, measurements);
    return id.has_value();
  });
}

void Store::add_measurements(std::int64_t sweep_id, const TrialKey& key,
                             const std::vector<Measurement>& measurements) {
  if (measurements.empty()) return;
  impl_->write([&] {
    const auto found = impl_->state_of(sweep_id, key);
    if (found) impl_->replace_measurements(found->id, measurements);
  });
}

Imported Store::import(const RecordingPortions& next_portion) {
  Database& database = impl_->database;
  std::optional<Recording> portion = next_portion();
  if (!portion) return {};
  Imported imported{portion->sweep, portion->device.name};
  const std::string provenance =
      fmt::format("recorded on {}{}{}", portion->device.name,
                  portion->recorded_at.empty() ? "" : ", ", portion->recorded_at.substr(0, 10));
  return database.guarded([&] {
    const BulkLoad bulk(database);
    Transaction transaction(database, Transaction::Mode::write);
    const std::int64_t device = device_id(database, portion->device, provenance);
    const std::int64_t sweep = impl_->add_sweep(portion->sweep, "", "", device, "done");
    KeyWriter keys(database);
    std::vector<RankRecord> ranks;    // stored last: their trials may stand behind them
    std::optional<Recording> stored;  // what was; the other thread has the time to free it
    while (portion) {
      auto next = std::async(std::launch::async, [&, stored = std::move(stored)]() mutable {
        stored.reset();
        return next_portion();
      });
      imported.num_trials += portion->trials.size();
      for (const TrialRecord& trial : portion->trials) {
        check_interrupt();
        const KeyIds ids = keys.ids(trial);
        const auto known = ids.is_new ? std::nullopt : trial_state(database, device, ids);
        const bool is_known = known && known->done();
        const bool is_better = is_known && impl_->is_better(trial, known->id);
        imported.num_known += is_known ? 1 : 0;
        imported.num_replaced += is_better ? 1 : 0;
        impl_->put_trial(sweep, device, ids, trial,
                         is_better ? Impl::IfDone::replace : Impl::IfDone::keep);
      }
      for (const BaselineRecord& baseline : portion->baselines) {
        if (!impl_->has_baseline(device, baseline)) impl_->put_baseline(sweep, device, baseline);
      }
      std::ranges::move(portion->ranks, std::back_inserter(ranks));
      stored = std::exchange(portion, next.get());
    }
    for (RankRecord& rank : ranks) {
      impl_->complete_identity(sweep, rank);
      if (!impl_->has_rank(device, rank)) impl_->put_rank(sweep, device, rank);
    }
    transaction.commit();
    return imported;
  });
}

Imported Store::import(Recording recording) {
  std::optional<Recording> whole(std::move(recording));
  return import([&whole] { return std::exchange(whole, std::nullopt); });
}

void Store::vacuum() {
  impl_->database.guarded([&] { impl_->database.exec("VACUUM"); });
}

}  // namespace assay
