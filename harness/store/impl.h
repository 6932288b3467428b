#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "store/database.h"
#include "store/rows.h"
#include "store/store.h"

namespace assay {

/// 0: tells nothing; 1: only that it compiles; 2 and 3: how it ran. A result that was once found
/// wrong is not right because it passed another time.
int weight_of(const Outcome& outcome);
/// Whether an outcome is kept before the one that is stored: it tells more, or tells as much and is
/// newer.
bool is_better(const Outcome& other, const std::string& finished_at, const Outcome& stored,
               const std::string& stored_at);

/// What a Store holds. `path` is the file that the user named. For a recording, the rows are in
/// memory.
struct Store::Impl {
  Database database;
  std::filesystem::path path;

  /// What `action` returns, inside of a transaction. It is handed what rows refer to.
  template <class Action>
  auto read(Action&& action) {
    return database.guarded([&] {
      const Transaction transaction(database, Transaction::Mode::read);
      return action(Dimensions(database));
    });
  }
  /// The same of what writes.
  template <class Action>
  auto write(Action&& action) {
    return database.guarded([&] {
      Transaction transaction(database, Transaction::Mode::write);
      if constexpr (std::is_void_v<decltype(action())>) {
        action();
        transaction.commit();
      } else {
        auto result = action();
        transaction.commit();
        return result;
      }
    });
  }

  /// The device that a sweep runs on. Throws Error when there is no such sweep.
  std::int64_t device_of(std::int64_t sweep_id);
  std::int64_t add_sweep(const std::string& name, const std::string& yaml,
                         const std::string& command_line, std::int64_t device,
                         const std::string& state);
  /// Store::results, inside of a transaction that the caller has begun.
  Results results(const Filter& filter, const KeepTrial& keep, const Dimensions& dimensions);
  /// The same of a trial and the one of this number.
  bool is_better(const TrialRecord& record, std::int64_t trial_id);
  /// What becomes of a trial that is done already when another outcome of it comes.
  enum class IfDone { keep, replace, replace_unless_wrong };
  /// Stores an outcome, whose trial's key has these row numbers, as one of the sweep. Returns the
  /// trial's number.
  std::int64_t put_trial(std::int64_t sweep_id, std::int64_t device, const KeyIds& ids,
                         const TrialRecord& record, IfDone if_done = IfDone::keep);
  /// The same on the sweep's device, in a transaction of its own.
  void write_trial(std::int64_t sweep_id, const TrialRecord& record, IfDone if_done) {
    write([&] {
      put_trial(sweep_id, device_of(sweep_id), KeyWriter(database).ids(record), record, if_done);
    });
  }
  /// The number of a trial that was read before. It may have another by now, or none: what was
  /// forgotten meanwhile leaves its number to the next.
  std::optional<std::int64_t> number_now(const TrialRow& trial);
  /// Where a trial of the sweep's device stands; nothing where it is not stored.
  std::optional<TrialState> state_of(std::int64_t sweep_id, const TrialKey& key) {
    return trial_state(database, device_of(sweep_id), key_ids(database, key, IfNew::leave));
  }
  /// Each takes the place of one of the same name.
  void replace_measurements(std::int64_t trial_id, const std::vector<Measurement>& measurements);
  void put_baseline(std::int64_t sweep_id, std::int64_t device, const BaselineRecord& record);
  /// Whether the very same verdict, or measurement, is stored: an import may bring it again.
  bool has_rank(std::int64_t device, const RankRecord& record);
  bool has_baseline(std::int64_t device, const BaselineRecord& record);
  void put_rank(std::int64_t sweep_id, std::int64_t device, const RankRecord& record);
  /// Gives a verdict without named candidates the sweep's trials of its time as candidates, each
  /// kernel's in the version that was the newest then.
  void complete_identity(std::int64_t sweep_id, RankRecord& record);
  /// Takes the place of an older one; a newer one stays.
  void put_verification(std::int64_t trial_id, const Verification& verification);
  /// Deletes what belongs to a trial's outcome, whose next one is about to be stored. A
  /// verification is of the configuration, whichever outcome is kept.
  void forget_figures(std::int64_t trial_id);
  void forget_verification(std::int64_t trial_id);
  void link(std::int64_t sweep_id, std::int64_t trial_id);
  void put_screened(std::int64_t sweep_id, const std::string& op, const Problem& problem);
};

}  // namespace assay
