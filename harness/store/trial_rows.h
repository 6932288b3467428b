#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "store/rows.h"

// What the queries of trials, verdicts and baselines share.

namespace assay {

/// Which rows a Filter means, decided once for the small tables, of which a trial row has the ids.
class Matcher {
 public:
  /// Throws UsageError for a status or a problem that cannot be.
  Matcher(const Filter& filter, const Dimensions& dimensions);

  bool device(std::int64_t id) const { return devices_.contains(id); }
  bool problem(std::int64_t id) const { return problems_.contains(id); }
  bool kernel(std::int64_t id) const { return kernels_.contains(id); }
  /// Whether a row that names only an op can concern the wanted kernel.
  bool op(const std::string& op) const;

 private:
  Filter filter_;
  std::unordered_set<std::int64_t> devices_, problems_, kernels_;
  std::unordered_set<std::string> ops_;
};

/// A SELECT of finished trials whose rows read_trial reads: the trial's number and those of its
/// device, kernel and problem come first. `message` is the message or a part of it. Behind the
/// columns come `more`, such as ", sweep_id".
std::string select_trials(std::string_view message, std::string_view where,
                          std::string_view more = "");

/// Leaves the reader at the columns of `more`. Throws DamagedRow where the trial contradicts
/// itself.
TrialRow read_trial(Query& row, const Dimensions& dimensions);
/// Without its samples.
TrialRow read_short_trial(Query& row, const Dimensions& dimensions);
/// Whatever it says.
TrialRow read_unchecked(Query& row, const Dimensions& dimensions);
/// The trial of a number, with its whole message and further measurements; nothing if it is not
/// done.
std::optional<TrialRow> read_whole_trial(const Dimensions& dimensions, std::int64_t id);

/// What else was measured of a trial, in the order of names. Throws DamagedRow.
std::vector<Measurement> read_measurements(Database& database, std::int64_t trial_id);
/// The same of many trials, asked for one after the other in the order of their numbers.
class MeasurementReader {
 public:
  /// Of the trials from one number to another.
  MeasurementReader(Database& database, std::int64_t first, std::int64_t last);
  std::vector<Measurement> of(std::int64_t trial_id);

 private:
  Query rows_;
  bool is_any_ = false;
};

/// The verifications of all trials, by the trial's number. Throws DamagedRow.
std::map<std::int64_t, Verification> read_verifications(const Dimensions& dimensions);

/// A stored verdict without its entries, or a time of a baseline.
template <class Record>
struct Stored {
  std::int64_t sweep = 0;
  std::int64_t device = 0;
  std::int64_t problem = 0;
  std::int64_t age = 1;  // 1: the newest of its (op, problem, device, protocol, name)
  Row<Record> row = {};
};
using RankHead = Stored<RankRecord>;
using StoredBaseline = Stored<BaselineRecord>;

/// Every verdict that matches, oldest first.
std::vector<RankHead> read_rank_heads(const Dimensions& dimensions, const Filter& filter = {});
/// Fills in entries, kernels and noise. Throws DamagedRow where the verdict contradicts itself or
/// the trials of its entries.
void read_entries(const Dimensions& dimensions, RankHead& head);
/// The same, whatever the verdict says. What it says of its entries' trials is returned, or "".
std::string read_entries_unchecked(const Dimensions& dimensions, RankHead& head);

/// Every time of a baseline that matches, oldest first.
std::vector<StoredBaseline> read_stored_baselines(const Dimensions& dimensions,
                                                  const Filter& filter = {});

}  // namespace assay
