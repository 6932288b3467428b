// What a filter's results are: for each question (an op, a problem, a device, a protocol) the
// trials that may win it, and the verdicts on exactly these.
//
// The trials are those of the last sweep that came to the end of the question, where the filter
// names a sweep or a run of one. Else they are all that were measured under the conditions of the
// last sweep (GPU, driver, compiler, precision), of each kernel in the version that the last sweep
// of it ran: an edited kernel or another driver leaves the old ones behind.

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "ranking/candidate_set.h"
#include "store/impl.h"
#include "store/trial_rows.h"

namespace assay {
namespace {

/// op, problem, device with its provenance, protocol
using Question = std::tuple<std::string, std::int64_t, std::string, std::string>;

std::string name_of(const DeviceInfo& device, const std::string& provenance) {
  return device.uuid + '/' + device.name + '/' + provenance;
}

struct Found {
  TrialRow row;
  TrialIds ids;
  std::int64_t last_sweep = 0;  // that it is a result of

  /// What all that compete must agree in.
  auto conditions() const { return std::tuple(ids.toolchain, ids.protocol, ids.device); }
};

Question question_of(const Found& found) {
  return {found.row.record.kernel.op, found.ids.problem,
          name_of(found.row.device, found.row.provenance), found.row.record.protocol.name};
}

Question question_of(const RankHead& head) {
  return {head.row.record.op, head.problem, name_of(head.row.device, head.row.provenance),
          head.row.record.protocol.name};
}

/// The trials of the sweeps or the run that the filter names, or of all. Those that failed are
/// among them: a kernel that fails now is no longer what it was when it won.
std::map<Question, std::deque<Found>> find_all(Database& database, const Dimensions& dimensions,
                                               const Matcher& matches, const Filter& filter) {
  static const std::string sql =
      "WITH link AS (SELECT trial_id AS linked, max(sweep_id) AS last_sweep FROM sweep_trial "
      "JOIN sweep ON sweep.id = sweep_id WHERE (?1 = '' OR sweep.name = ?1) AND "
      "(?2 = 0 OR sweep.id = ?2) GROUP BY trial_id) " +
      select_trials("substr(message, 1, 2000)", "true ORDER BY finished_at, trial.id",
                    ", last_sweep", "JOIN link ON linked = trial.id");
  std::map<Question, std::deque<Found>> all;
  // Most rows have what one before them has, and then their question's texts need not be made.
  std::map<std::array<std::int64_t, 4>, std::deque<Found>*> known;
  for (Query query = database.query(sql, filter.sweep, filter.run); query.step();) {
    if (!matches.device(query.integer(1)) || !matches.kernel(query.integer(2)) ||
        !matches.problem(query.integer(5))) {
      continue;
    }
    RowReader row(query);
    Found found;
    found.row = read_trial(row, dimensions, found.ids);
    found.last_sweep = row.integer();
    const TrialIds& ids = found.ids;
    auto*& trials = known[{ids.device, ids.kernel, ids.protocol, ids.problem}];
    if (trials == nullptr) trials = &all[question_of(found)];
    trials->push_back(std::move(found));
  }
  return all;
}

/// The sweeps that came to the end of an op and problem.
std::set<std::tuple<std::int64_t, std::string, std::int64_t>> read_screened(Database& database) {
  std::set<std::tuple<std::int64_t, std::string, std::int64_t>> screened;
  for (Query query = database.query("SELECT sweep_id, op, problem_id FROM screened");
       query.step();) {
    screened.emplace(query.integer(0), query.text(1), query.integer(2));
  }
  return screened;
}

/// The one that the last sweep found; the newest where it found several.
const Found& last_of(const std::deque<Found>& trials) {
  // The last of equals: the newest is at the end.
  return *std::max_element(trials.rbegin(), trials.rend(), [](const Found& a, const Found& b) {
    return a.last_sweep < b.last_sweep;
  });
}

void keep_current(std::deque<Found>& trials) {
  const auto conditions = last_of(trials).conditions();
  std::erase_if(trials, [&](const Found& trial) { return trial.conditions() != conditions; });
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> current;  // last sweep, version
  for (const Found& trial : trials) {                                    // oldest first
    auto& seen = current[trial.row.record.kernel.name];
    if (seen.first <= trial.last_sweep) seen = {trial.last_sweep, trial.ids.kernel};
  }
  std::erase_if(trials, [&](const Found& trial) {
    return trial.ids.kernel != current.at(trial.row.record.kernel.name).second;
  });
}

/// What may win a question.
class Candidates {
 public:
  void add(const TrialRecord& trial) {
    set_.add(trial);
    if (trial.outcome.status == Status::correct && trial.outcome.timing) {
      configs_.insert(name_of(trial.kernel.name, to_text(trial.config)));
    }
  }
  std::string hash() const { return set_.hash(); }
  std::size_t size() const { return set_.size(); }
  /// Whether those that the verdict puts first are candidates. A file that somebody wrote by hand
  /// may say otherwise.
  bool have_best_of(const RankRecord& rank) const {
    return std::all_of(rank.entries.begin(), rank.entries.end(), [&](const RankEntry& entry) {
      return !(entry.winner || entry.tied) ||
             configs_.contains(name_of(entry.kernel, entry.config));
    });
  }

 private:
  static std::string name_of(const std::string& kernel, const std::string& config) {
    return kernel + ' ' + config;  // a configuration has no space
  }

  CandidateSet set_;
  std::unordered_set<std::string> configs_;
};

/// The device called so that ran such a sweep last, a measured one before a replayed one. Any will
/// do if none is called for.
StoredDevice device_that_ran(Database& database, const std::string& sweep,
                             const std::string& wanted, const std::filesystem::path& path) {
  const Dimensions dimensions(database);
  std::set<std::string> others;
  for (Query row =
           database.query("SELECT device_id FROM sweep JOIN device ON device.id = device_id "
                          "WHERE sweep.name = ? ORDER BY provenance <> '', sweep.id DESC",
                          sweep);
       row.step();) {
    const StoredDevice& stored = dimensions.devices.at(row.integer(0));
    if (wanted.empty() || stored.info.is_called(wanted)) return stored;
    others.insert(fmt::format("{} ({})", stored.info.name, stored.info.uuid));
  }
  if (!others.empty()) {
    throw UsageError(fmt::format("{}: the sweep '{}' ran on {}, not on '{}'", path.string(), sweep,
                                 fmt::join(others, ", "), wanted));
  }
  Query names = database.query(
      "SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM sweep ORDER BY name)");
  names.step();
  throw UsageError(fmt::format("{} has no sweep named '{}'; it holds {}", path.string(), sweep,
                               names.is_null(0) ? "none" : names.text(0)));
}

}  // namespace

Results Store::Impl::results(const Filter& filter) {
  const Dimensions dimensions(database);
  const Matcher matches(filter, dimensions);
  const auto screened = read_screened(database);
  const auto verifications = read_verifications(database, dimensions);
  auto measurements = read_measurements(database);
  std::vector<RankHead> heads = read_rank_heads(database, dimensions, matches, "");
  if (filter.run != 0) {
    std::erase_if(heads, [&](const RankHead& head) { return head.sweep > filter.run; });
  }
  std::set<Question> judged;
  for (const RankHead& head : heads) judged.insert(question_of(head));
  Results results;
  std::map<Question, Candidates> candidates;
  auto all = find_all(database, dimensions, matches, filter);
  std::size_t num_trials = 0;
  for (const auto& [question, trials] : all) num_trials += trials.size();
  results.trials.reserve(num_trials);
  for (auto& [question, trials] : all) {
    const std::int64_t last = last_of(trials).last_sweep;
    const auto& [op, problem, device, protocol] = question;
    if ((!filter.sweep.empty() || filter.run != 0) && screened.contains({last, op, problem})) {
      std::erase_if(trials, [&](const Found& trial) { return trial.last_sweep != last; });
    } else {
      keep_current(trials);
    }
    Candidates& asked = candidates[question];
    const bool is_judged = judged.contains(question);
    for (Found& trial : trials) {
      TrialRecord& record = trial.row.record;
      const auto verified = verifications.find(trial.row.id);
      if (verified != verifications.end()) record.verification = verified->second;
      record.measurements = std::move(measurements[trial.row.id]);
      if (is_judged) asked.add(record);
      if (filter.status.empty() || filter.status == to_text(record.outcome.status)) {
        results.trials.push_back(std::move(trial.row));
      }
    }
  }

  std::map<std::pair<Question, Objective>, RankHead> newest;
  for (RankHead& head : heads) {
    const Question question = question_of(head);
    const auto asked = candidates.find(question);
    const std::string& hash = head.row.record.identity.candidates;
    if (hash.empty() || asked == candidates.end() || asked->second.hash() != hash) continue;
    read_entries(database, dimensions, head);
    if (!asked->second.have_best_of(head.row.record)) continue;
    head.row.record.identity.num_candidates = static_cast<std::int64_t>(asked->second.size());
    newest.insert_or_assign({question, head.row.record.objective}, std::move(head));
  }
  std::vector<RankHead*> in_order;
  for (auto& [key, head] : newest) in_order.push_back(&head);
  std::sort(in_order.begin(), in_order.end(),
            [](const RankHead* a, const RankHead* b) { return a->id < b->id; });
  for (RankHead* head : in_order) results.ranks.push_back(std::move(head->row));
  results.baselines = read_baselines(database, dimensions, matches, "");
  std::set<std::tuple<std::string, Problem, std::string, std::string>> asked;
  for (const auto& [question, unused] : candidates) {
    const auto& [op, problem, device, protocol] = question;
    asked.emplace(op, dimensions.problems.at(problem), device, protocol);
  }
  std::erase_if(results.baselines, [&](const BaselineRow& row) {
    const BaselineRecord& record = row.record;
    return !asked.contains(
        {record.op, record.problem, name_of(row.device, row.provenance), record.protocol.name});
  });
  return results;
}

Results Store::results(const Filter& filter) const {
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    return impl_->results(filter);
  });
}

Recording Store::record(const std::string& sweep_name, const std::string& of_device) const {
  Database& database = impl_->database;
  Filter filter;
  filter.sweep = sweep_name;
  DeviceInfo device;
  std::string provenance;
  const auto is_recorded = [&](const auto& row) {
    return row.device.uuid == device.uuid && row.device.name == device.name &&
           row.provenance == provenance;
  };
  Results results;
  // All of one moment: a sweep may be replacing trials, whose samples would not be those of their
  // medians.
  database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    const StoredDevice stored = device_that_ran(database, sweep_name, of_device, path());
    device = stored.info;
    provenance = stored.provenance;
    // Under the version that the kernel has now, a recording would not say so any more.
    if (provenance.find(kStale) != std::string::npos) {
      throw UsageError(fmt::format(
          "{}: the times of the sweep '{}' are of a kernel as it was, and no recording of it as it "
          "is: {}",
          path().string(), sweep_name, provenance));
    }
    results = impl_->results(filter);
    std::erase_if(results.trials, [&](const TrialRow& trial) { return !is_recorded(trial); });
    for (TrialRow& trial : results.trials) read_figures(database, trial);
  });
  Recording recording;
  recording.sweep = sweep_name;
  recording.device = device;
  for (TrialRow& row : results.trials) {
    const std::string date = row.record.finished_at.substr(0, 10);
    recording.recorded_at = std::max(recording.recorded_at, date);
    recording.trials.push_back(std::move(row.record));
  }
  std::stable_sort(
      recording.trials.begin(), recording.trials.end(),
      [](const TrialRecord& a, const TrialRecord& b) { return a.finished_at < b.finished_at; });
  for (BaselineRow& row : results.baselines) {
    if (is_recorded(row)) recording.baselines.push_back(std::move(row.record));
  }
  for (RankRow& row : results.ranks) {
    if (is_recorded(row)) recording.ranks.push_back(std::move(row.record));
  }
  return recording;
}

}  // namespace assay
