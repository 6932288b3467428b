// What a filter's results are: for each question (an op, a problem, a device, a protocol) the
// trials that may win it, and the verdicts on exactly these.
//
// The trials are those of the last sweep that came to the end of the question, where the filter
// names a sweep or a run of one. Else they are all that were measured under the conditions of the
// last sweep (GPU, driver, compiler, precision), of each kernel in the version that the last sweep
// of it ran: an edited kernel or another driver leaves the old ones behind.

// A database may have 10^6 trials, so what decides is read of all of them, some 70 bytes each. The
// rest is read one trial after the other, and given to the caller.

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "ranking/candidate_set.h"
#include "ranking/claims.h"
#include "store/impl.h"
#include "store/trial_rows.h"

namespace assay {
namespace {

/// op, problem, device with its provenance, protocol
using Question = std::tuple<std::string, std::int64_t, std::string, std::string>;

std::string name_of(const DeviceInfo& device, const std::string& provenance) {
  return device.uuid + '/' + device.name + '/' + provenance;
}

/// What decides whether a trial is current, and whether it may win.
struct Found {
  std::int64_t id = 0;
  TrialIds ids;
  std::int64_t config = 0;
  std::int64_t last_sweep = 0;  // that it is a result of
  std::int64_t finished = 0;    // the digits of its time: 20261121100000
  bool may_win = false;         // it is correct and timed

  /// What all that compete must agree in.
  auto conditions() const { return std::tuple(ids.toolchain, ids.protocol, ids.device); }
};

using Trials = std::vector<Found>;

Question question_of(const Found& found, const Dimensions& dimensions) {
  const StoredDevice& device = dimensions.devices.at(found.ids.device);
  return {dimensions.kernels.at(found.ids.kernel).op, found.ids.problem,
          name_of(device.info, device.provenance),
          dimensions.protocols.at(found.ids.protocol).name};
}

Question question_of(const RankHead& head) {
  return {head.row.record.op, head.problem, name_of(head.row.device, head.row.provenance),
          head.row.record.protocol.name};
}

std::int64_t digits_of(std::string_view time) {
  std::int64_t digits = 0;
  for (const char c : time) {
    if (c >= '0' && c <= '9') digits = digits * 10 + (c - '0');
  }
  return digits;
}

std::int64_t finished_of(std::int64_t trial, const std::string& time) {
  if (is_timestamp(time)) return digits_of(time);
  throw DamagedRow(fmt::format("trial {}: its time is '{}', which is none", trial, time));
}

/// The last of some sweeps that each trial is a result of. Asked for one trial after the other, in
/// the order of numbers.
class LastSweeps {
 public:
  LastSweeps(Database& database, const Filter& filter)
      : links_(database.query(
            "SELECT trial_id, sweep_id FROM sweep_trial JOIN sweep ON sweep.id = sweep_id WHERE "
            "(?1 = '' OR sweep.name = ?1) AND (?2 = 0 OR sweep.id = ?2) ORDER BY trial_id, "
            "sweep_id",
            filter.sweep, filter.run)) {
    is_any_ = links_.step();
  }

  /// 0 where there is none.
  std::int64_t of(std::int64_t trial) {
    std::int64_t last = 0;
    for (; is_any_ && links_.integer(0) <= trial; is_any_ = links_.step()) {
      if (links_.integer(0) == trial) last = links_.integer(1);
    }
    return last;
  }

 private:
  Query links_;
  bool is_any_ = false;
};

/// The trials of the sweeps or the run that the filter names, or of all; oldest first. Those that
/// failed are among them: a kernel that fails now is no longer what it was when it won.
std::map<Question, Trials> find_all(Database& database, const Dimensions& dimensions,
                                    const Matcher& matches, const Filter& filter) {
  std::map<Question, Trials> all;
  // Most rows have what one before them has, and then their question's texts need not be made.
  std::map<std::array<std::int64_t, 4>, Trials*> known;
  LastSweeps last_sweeps(database, filter);
  for (Query query = database.query(
           "SELECT id, device_id, kernel_id, toolchain_id, protocol_id, problem_id, config_id, "
           "status = 'correct' AND timing_id IS NOT NULL, finished_at FROM trial "
           "WHERE status <> 'running' ORDER BY id");
       query.step();) {
    RowReader row(query);
    Found found;
    found.id = row.integer();
    found.last_sweep = last_sweeps.of(found.id);
    TrialIds& ids = found.ids;
    ids = {row.integer(), row.integer(), row.integer(), row.integer(), row.integer()};
    if (found.last_sweep == 0 || !matches.device(ids.device) || !matches.kernel(ids.kernel) ||
        !matches.problem(ids.problem)) {
      continue;
    }
    found.config = row.integer();
    found.may_win = row.flag();
    found.finished = finished_of(found.id, row.text());
    auto*& trials = known[{ids.device, ids.kernel, ids.protocol, ids.problem}];
    if (trials == nullptr) trials = &all[question_of(found, dimensions)];
    trials->push_back(found);
  }
  for (auto& [question, trials] : all) {
    std::stable_sort(trials.begin(), trials.end(),
                     [](const Found& a, const Found& b) { return a.finished < b.finished; });
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
const Found& last_of(const Trials& trials) {
  // The last of equals: the newest is at the end.
  return *std::max_element(trials.rbegin(), trials.rend(), [](const Found& a, const Found& b) {
    return a.last_sweep < b.last_sweep;
  });
}

void keep_current(Trials& trials, const Dimensions& dimensions) {
  const auto conditions = last_of(trials).conditions();
  std::erase_if(trials, [&](const Found& trial) { return trial.conditions() != conditions; });
  const auto name = [&](const Found& trial) -> const std::string& {
    return dimensions.kernels.at(trial.ids.kernel).name;
  };
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> current;  // last sweep, version
  for (const Found& trial : trials) {                                    // oldest first
    auto& seen = current[name(trial)];
    if (seen.first <= trial.last_sweep) seen = {trial.last_sweep, trial.ids.kernel};
  }
  std::erase_if(trials, [&](const Found& trial) {
    return trial.ids.kernel != current.at(name(trial)).second;
  });
}

/// What may win a question.
class Candidates {
 public:
  Candidates(Database& database, const Dimensions& dimensions, const Trials& trials)
      : database_(database), dimensions_(dimensions) {
    for (const Found& trial : trials) {
      if (trial.may_win) candidates_.push_back(trial);
    }
    std::sort(candidates_.begin(), candidates_.end(),
              [](const Found& a, const Found& b) { return a.id < b.id; });
  }

  std::size_t size() const { return candidates_.size(); }

  const std::string& hash() {
    if (hash_.empty() && !candidates_.empty()) {
      CandidateSet set;
      for (const Found& trial : candidates_) {
        Query text = database_.query("SELECT text FROM config WHERE id = ?", trial.config);
        if (!text.step()) throw DamagedRow(fmt::format("trial {} has no configuration", trial.id));
        set.add(dimensions_.kernels.at(trial.ids.kernel),
                dimensions_.toolchains.at(trial.ids.toolchain), text.text(0));
      }
      hash_ = set.hash();
    }
    return hash_;
  }

  /// Whether those that the verdict puts first are candidates. A file that somebody wrote by hand
  /// may say otherwise.
  bool have_best_of(const RankRecord& rank) {
    return std::all_of(rank.entries.begin(), rank.entries.end(), [&](const RankEntry& entry) {
      return !(entry.winner || entry.tied) || has(entry);
    });
  }

  /// Whether they are those of a verdict of an older file, which does not say of itself what its
  /// candidates were: the correct trials of its question and its sweep that were there when the
  /// verdict was made, of each kernel's newest version then. If so, fills in what it does not say.
  bool are_of(RankHead& head, const Trials& of_question, Database& database) const {
    const std::int64_t made_at = digits_of(head.row.record.finished_at);
    std::vector<std::int64_t> of_sweep;
    for (Query query = database.query(
             "SELECT DISTINCT trial_id FROM sweep_trial WHERE sweep_id IN (SELECT id FROM sweep "
             "WHERE name = (SELECT name FROM sweep WHERE id = ?)) ORDER BY trial_id",
             head.sweep);
         query.step();) {
      of_sweep.push_back(query.integer(0));
    }
    std::vector<const Found*> asked;
    std::map<std::string, const Found*> newest;  // by kernel
    for (const Found& trial : of_question) {     // oldest first
      if (trial.finished > made_at || trial.ids.device != head.device ||
          !std::binary_search(of_sweep.begin(), of_sweep.end(), trial.id)) {
        continue;
      }
      asked.push_back(&trial);
      newest[dimensions_.kernels.at(trial.ids.kernel).name] = &trial;
    }
    std::vector<std::int64_t> candidates;
    for (const Found* trial : asked) {
      const TrialIds& current = newest.at(dimensions_.kernels.at(trial->ids.kernel).name)->ids;
      if (trial->may_win && trial->ids.kernel == current.kernel &&
          trial->ids.toolchain == current.toolchain) {
        candidates.push_back(trial->id);
      }
    }
    std::sort(candidates.begin(), candidates.end());
    const auto is_same = [](const Found& trial, std::int64_t id) { return trial.id == id; };
    if (candidates.empty() || !std::equal(candidates_.begin(), candidates_.end(),
                                          candidates.begin(), candidates.end(), is_same)) {
      return false;
    }
    RankRecord& rank = head.row.record;
    rank.identity.objective = rank.objective;
    rank.kernels.clear();
    for (const auto& [name, trial] : newest) {
      rank.kernels.push_back(dimensions_.kernels.at(trial->ids.kernel));
      rank.toolchain = dimensions_.toolchains.at(trial->ids.toolchain);
    }
    return true;
  }

 private:
  bool has(const RankEntry& entry) {
    Query id = database_.query("SELECT id FROM config WHERE text = ?", entry.config);
    if (!id.step()) return false;
    const std::int64_t config = id.integer(0);
    return std::any_of(candidates_.begin(), candidates_.end(), [&](const Found& trial) {
      return trial.config == config &&
             dimensions_.kernels.at(trial.ids.kernel).name == entry.kernel;
    });
  }

  Database& database_;
  const Dimensions& dimensions_;
  Trials candidates_;  // by number
  std::string hash_;   // when it was asked for
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

Results Store::Impl::results(const Filter& filter, const KeepTrial& keep) {
  const Dimensions dimensions(database);
  const Matcher matches(filter, dimensions);
  const auto screened = read_screened(database);
  std::map<Question, std::vector<RankHead>> heads;  // oldest first
  for (RankHead& head : read_rank_heads(database, dimensions, matches, "")) {
    if (filter.run != 0 && head.sweep > filter.run) continue;
    heads[question_of(head)].push_back(std::move(head));
  }
  Results results;
  auto all = find_all(database, dimensions, matches, filter);
  std::vector<RankHead> newest;  // of each question and objective
  for (auto& [question, trials] : all) {
    const auto judged = heads.find(question);
    const Trials of_question = judged == heads.end() ? Trials() : trials;
    const std::int64_t last = last_of(trials).last_sweep;
    const auto& [op, problem, device, protocol] = question;
    if ((!filter.sweep.empty() || filter.run != 0) && screened.contains({last, op, problem})) {
      std::erase_if(trials, [&](const Found& trial) { return trial.last_sweep != last; });
    } else {
      keep_current(trials, dimensions);
    }
    if (judged == heads.end()) continue;
    Candidates candidates(database, dimensions, trials);
    std::set<Objective> found;
    for (auto head = judged->second.rbegin(); head != judged->second.rend(); ++head) {
      RankRecord& rank = head->row.record;
      if (found.contains(rank.objective)) continue;
      const bool is_old = rank.identity.candidates.empty();
      if (!is_old && rank.identity.candidates != candidates.hash()) continue;
      if (is_old && !candidates.are_of(*head, of_question, database)) continue;
      const std::vector<KernelVersion> kernels = std::move(rank.kernels);
      rank.kernels.clear();
      read_entries(database, dimensions, *head);
      if (is_old) rank.kernels = kernels;
      if (!candidates.have_best_of(rank)) continue;
      rank.identity.candidates = candidates.hash();
      rank.identity.num_candidates = static_cast<std::int64_t>(candidates.size());
      found.insert(rank.objective);
      newest.push_back(std::move(*head));
    }
  }
  std::sort(newest.begin(), newest.end(),
            [](const RankHead& a, const RankHead& b) { return a.id < b.id; });
  for (RankHead& head : newest) results.ranks.push_back(std::move(head.row));
  results.baselines = read_baselines(database, dimensions, matches, "");
  std::set<std::tuple<std::string, Problem, std::string, std::string>> asked;
  for (const auto& [question, unused] : all) {
    const auto& [op, problem, device, protocol] = question;
    asked.emplace(op, dimensions.problems.at(problem), device, protocol);
  }
  std::erase_if(results.baselines, [&](const BaselineRow& row) {
    const BaselineRecord& record = row.record;
    return !asked.contains(
        {record.op, record.problem, name_of(row.device, row.provenance), record.protocol.name});
  });

  static const std::string sql = select_trials("substr(message, 1, 2000)", "trial.id = ?");
  const auto verifications = read_verifications(database, dimensions);
  for (auto& [question, trials] : all) {
    for (const Found& found : std::exchange(trials, {})) {
      Query query = database.query(sql, found.id);
      if (!query.step()) continue;
      RowReader reader(query);
      TrialIds ids;
      TrialRow row = read_trial(reader, dimensions, ids);
      TrialRecord& record = row.record;
      if (!filter.status.empty() && filter.status != to_text(record.outcome.status)) continue;
      const auto verified = verifications.find(row.id);
      if (verified != verifications.end()) record.verification = verified->second;
      record.measurements = read_measurements(database, row.id);
      if (!keep || keep(row, results)) results.trials.push_back(std::move(row));
    }
  }
  return results;
}

Results Store::results(const Filter& filter, const KeepTrial& keep) const {
  Database& database = impl_->database;
  return database.guarded([&] {
    const Transaction transaction(database, Transaction::Mode::read);
    return impl_->results(filter, keep);
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
    results = impl_->results(filter, {});
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
