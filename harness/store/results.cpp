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

#include "base/rank.h"
#include "base/text.h"
#include "ranking/claims.h"
#include "store/impl.h"
#include "store/trial_rows.h"

namespace assay {
namespace {

/// op, problem, device with its provenance, protocol
using QuestionKey = std::tuple<std::string, std::int64_t, std::string, std::string>;

std::string name_of(const DeviceInfo& device, const std::string& provenance) {
  return device.uuid + '/' + device.name + '/' + provenance;
}

/// The rows of small tables that a trial refers to.
struct TrialIds {
  std::int64_t device = 0, kernel = 0, toolchain = 0, protocol = 0, problem = 0;
};

/// What decides whether a trial is current, and whether it may win.
struct Found {
  std::int64_t id = 0;
  TrialIds ids;
  std::int64_t last_sweep = 0;  // that it is a result of
  std::int64_t finished = 0;    // the digits of its time: 20261121100000
  bool may_win = false;         // it is correct and timed

  /// What all that compete must agree in.
  auto conditions() const { return std::tuple(ids.toolchain, ids.protocol, ids.device); }
};

using Trials = std::vector<Found>;

QuestionKey key_of(const Found& found, const Dimensions& dimensions) {
  const StoredDevice& device = dimensions.devices.at(found.ids.device);
  return {dimensions.kernels.at(found.ids.kernel).op, found.ids.problem,
          name_of(device.info, device.provenance),
          dimensions.protocols.at(found.ids.protocol).name};
}

template <class Record>
QuestionKey key_of(const Stored<Record>& stored) {
  const Row<Record>& row = stored.row;
  return {row.record.op, stored.problem, name_of(row.device, row.provenance),
          row.record.protocol.name};
}

std::int64_t finished_of(std::int64_t trial, std::string_view time) {
  if (!is_timestamp(time)) {
    throw DamagedRow("trial {}: its time is '{}', which is none", trial, time);
  }
  std::int64_t digits = 0;
  for (const char c : time) {
    if (is_digit(c)) digits = digits * 10 + (c - '0');
  }
  return digits;
}

/// The trials of the sweeps or the run that the filter names, or of all; oldest first. Those that
/// failed are among them: a kernel that fails now is no longer what it was when it won.
std::map<QuestionKey, Trials> find_all(const Dimensions& dimensions, const Matcher& matches,
                                       const Filter& filter) {
  constexpr std::string_view kSelect =
      "SELECT trial.id, device_id, kernel_id, toolchain_id, protocol_id, problem_id, "
      "status = 'correct' AND timing_id IS NOT NULL, finished_at, link.sweep_id "
      "FROM sweep_trial AS link CROSS JOIN trial ON trial.id = link.trial_id "
      "WHERE status <> 'running' AND {} ORDER BY link.trial_id, link.sweep_id";
  static const std::string of_any = fmt::format(kSelect, "?1 = '' AND ?2 = 0");
  static const std::string of_some = fmt::format(
      kSelect,
      "link.sweep_id IN (SELECT id FROM sweep WHERE (?1 = '' OR name = ?1) AND (?2 = 0 OR id = "
      "?2))");
  const bool is_any = filter.sweep.empty() && filter.run == 0;
  std::map<QuestionKey, Trials> all;
  // Most rows have what the one before them has, and then their question's texts need not be made.
  using Parts = std::array<std::int64_t, 4>;
  std::map<Parts, Trials*> known;  // null: not asked for
  Parts last{};
  Trials* trials = nullptr;
  for (Query row = dimensions.database.query(is_any ? of_any : of_some, filter.sweep, filter.run);
       row.step();) {
    Found found;
    found.id = row.integer();
    TrialIds& ids = found.ids;
    ids = {row.integer(), row.integer(), row.integer(), row.integer(), row.integer()};
    const Parts parts{ids.device, ids.kernel, ids.protocol, ids.problem};
    if (parts != last) {
      const auto [at, is_new] = known.try_emplace(last = parts);
      if (is_new && matches.device(ids.device) && matches.kernel(ids.kernel) &&
          matches.problem(ids.problem)) {
        at->second = &all[key_of(found, dimensions)];
      }
      trials = at->second;
    }
    if (trials == nullptr) continue;
    found.may_win = row.flag();
    found.finished = finished_of(found.id, row.view());
    found.last_sweep = row.integer();
    if (!trials->empty() && trials->back().id == found.id) trials->pop_back();  // a later sweep's
    trials->push_back(found);
  }
  for (auto& [question, found] : all) {
    const auto is_before = [](const Found& a, const Found& b) { return a.finished < b.finished; };
    if (!std::ranges::is_sorted(found, is_before)) std::ranges::stable_sort(found, is_before);
  }
  return all;
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

/// Calls `read` with the numbers of the first and the last of each stretch of trials whose numbers
/// rise by little. SQLite reads a row behind its neighbour in a fifth of the time of one alone.
template <class Read>
void read_stretches(const Trials& trials, Read&& read) {
  constexpr std::int64_t kMostSkipped = 4;
  for (auto begin = trials.begin(); begin != trials.end();) {
    auto end = std::next(begin);
    while (end != trials.end() && end->id > std::prev(end)->id &&
           end->id - std::prev(end)->id <= kMostSkipped) {
      ++end;
    }
    read(std::span(begin, end));
    begin = end;
  }
}

/// Calls `take` with each trial as far as a list has it, in this order.
template <class Take>
void read_trials(const Dimensions& dimensions, const Trials& trials, Take&& take) {
  static const std::string sql =
      select_trials("substr(message, 1, 2000)", "trial.id BETWEEN ? AND ? ORDER BY trial.id");
  read_stretches(trials, [&](std::span<const Found> stretch) {
    const std::int64_t first = stretch.front().id, last = stretch.back().id;
    MeasurementReader measurements(dimensions.database, first, last);
    auto wanted = stretch.begin();
    for (Query reader = dimensions.database.query(sql, first, last); reader.step();) {
      while (wanted->id < reader.integer(0)) ++wanted;
      if (wanted->id > reader.integer(0)) continue;
      TrialRow row = read_short_trial(reader, dimensions);
      row.record.measurements = measurements.of(row.id);
      take(std::move(row));
    }
  });
}

/// What may win a question.
class Candidates {
 public:
  Candidates(const Dimensions& dimensions, const Trials& trials) : dimensions_(dimensions) {
    for (const Found& trial : trials) {
      if (trial.may_win) candidates_.push_back(trial);
    }
    std::ranges::sort(candidates_, [](const Found& a, const Found& b) { return a.id < b.id; });
  }

  std::size_t size() const { return candidates_.size(); }

  const std::string& hash() {
    if (hash_.empty() && !candidates_.empty()) {
      CandidateSet set;
      read_stretches(candidates_, [&](std::span<const Found> stretch) {
        auto wanted = stretch.begin();
        for (Query text = dimensions_.database.query(
                 "SELECT trial.id, text FROM trial JOIN config ON config.id = config_id WHERE "
                 "trial.id BETWEEN ? AND ? ORDER BY trial.id",
                 stretch.front().id, stretch.back().id);
             text.step();) {
          while (wanted->id < text.integer(0)) ++wanted;
          if (wanted->id > text.integer(0)) continue;
          set.add(dimensions_.kernels.at(wanted->ids.kernel),
                  dimensions_.toolchains.at(wanted->ids.toolchain), text.view(1));
        }
      });
      hash_ = set.hash();
    }
    return hash_;
  }

  /// Whether those that the verdict puts first are candidates. A file that somebody wrote by hand
  /// may say otherwise.
  bool have_best_of(const RankRecord& rank) const {
    return std::ranges::all_of(rank.entries, [&](const RankEntry& entry) {
      return !(entry.winner || entry.tied) || has(entry);
    });
  }

 private:
  bool has(const RankEntry& entry) const {
    const auto at =
        std::lower_bound(candidates_.begin(), candidates_.end(), entry.trial_id,
                         [](const Found& trial, std::int64_t id) { return trial.id < id; });
    return at != candidates_.end() && at->id == entry.trial_id;
  }

  const Dimensions& dimensions_;
  Trials candidates_;  // by number
  std::string hash_;   // when it was asked for
};

/// The device called so that ran such a sweep last, a measured one before a replayed one. Any will
/// do if none is called for.
StoredDevice device_that_ran(const Dimensions& dimensions, const std::string& sweep,
                             const std::string& wanted, const std::filesystem::path& path) {
  std::set<std::string> others;
  for (Query row = dimensions.database.query(
           "SELECT device_id FROM sweep JOIN device ON device.id = device_id "
           "WHERE sweep.name = ? ORDER BY provenance <> '', sweep.id DESC",
           sweep);
       row.step();) {
    const StoredDevice& stored = dimensions.devices.at(row.integer(0));
    if (wanted.empty() || stored.info.is_called(wanted)) return stored;
    others.insert(fmt::format("{} ({})", stored.info.name, stored.info.uuid));
  }
  if (!others.empty()) {
    throw UsageError("{}: the sweep '{}' ran on {}, not on '{}'", path.string(), sweep,
                     fmt::join(others, ", "), wanted);
  }
  Query names = dimensions.database.query(
      "SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM sweep ORDER BY name)");
  names.step();
  throw UsageError("{} has no sweep named '{}'; it holds {}", path.string(), sweep,
                   names.is_null(0) ? "none" : names.text(0));
}

}  // namespace

Results Store::Impl::results(const Filter& filter, const KeepTrial& keep,
                             const Dimensions& dimensions) {
  const Matcher matches(filter, dimensions);
  Filter of_any_sweep = filter;
  of_any_sweep.sweep.clear();
  // The sweeps that came to the end of an op and problem.
  std::set<std::tuple<std::int64_t, std::string, std::int64_t>> screened;
  for (Query query = database.query("SELECT sweep_id, op, problem_id FROM screened");
       query.step();) {
    screened.emplace(query.integer(0), query.text(1), query.integer(2));
  }
  std::map<QuestionKey, std::vector<RankHead>> heads;  // oldest first
  for (RankHead& head : read_rank_heads(dimensions, of_any_sweep)) {
    if (filter.run != 0 && head.sweep > filter.run) continue;
    heads[key_of(head)].push_back(std::move(head));
  }
  Results results;
  auto all = find_all(dimensions, matches, filter);
  std::vector<RankHead> newest;  // of each question and objective
  for (auto& [question, trials] : all) {
    const auto judged = heads.find(question);
    const std::int64_t last = last_of(trials).last_sweep;
    const auto& [op, problem, device, protocol] = question;
    if ((!filter.sweep.empty() || filter.run != 0) && screened.contains({last, op, problem})) {
      std::erase_if(trials, [&](const Found& trial) { return trial.last_sweep != last; });
    } else {
      keep_current(trials, dimensions);
    }
    std::set<Objective> found;
    if (judged != heads.end()) {
      Candidates candidates(dimensions, trials);
      for (auto head = judged->second.rbegin(); head != judged->second.rend(); ++head) {
        const RankRecord& rank = head->row.record;
        if (found.contains(rank.objective) || candidates.size() == 0) continue;
        if (rank.identity.candidates != candidates.hash()) continue;
        read_entries(dimensions, *head);
        if (!candidates.have_best_of(rank)) continue;
        found.insert(rank.objective);
        newest.push_back(std::move(*head));
      }
    }
    if (filter.is_ranked && found.empty()) trials.clear();
  }
  std::ranges::sort(newest,
                    [](const RankHead& a, const RankHead& b) { return a.row.id < b.row.id; });
  for (RankHead& head : newest) results.ranks.push_back(std::move(head.row));
  for (StoredBaseline& each : read_stored_baselines(dimensions, of_any_sweep)) {
    const bool is_asked = each.age == 1 && all.contains(key_of(each));
    if (is_asked) results.baselines.push_back(std::move(each.row));
  }

  const auto verifications = read_verifications(dimensions);
  for (auto& [question, trials] : all) {
    read_trials(dimensions, std::exchange(trials, {}), [&](TrialRow row) {
      TrialRecord& record = row.record;
      if (filter.status && *filter.status != record.outcome.status) return;
      const auto verified = verifications.find(row.id);
      if (verified != verifications.end()) record.verification = verified->second;
      if (!keep || keep(row, results)) results.trials.push_back(std::move(row));
    });
  }
  return results;
}

Results Store::results(const Filter& filter, const KeepTrial& keep) const {
  return impl_->read(
      [&](const Dimensions& dimensions) { return impl_->results(filter, keep, dimensions); });
}

Recording Store::record(const std::string& sweep_name, const std::string& of_device) const {
  const Filter filter{.sweep = sweep_name};
  DeviceInfo device;
  std::string provenance;
  const auto is_recorded = [&](const auto& row) {
    return row.device.uuid == device.uuid && row.device.name == device.name &&
           row.provenance == provenance;
  };
  Results results;
  // All of one moment: a sweep may be replacing trials, whose samples would not be those of their
  // medians.
  impl_->read([&](const Dimensions& dimensions) {
    const StoredDevice stored = device_that_ran(dimensions, sweep_name, of_device, path());
    device = stored.info;
    provenance = stored.provenance;
    // Under the version that the kernel has now, a recording would not say so any more.
    if (provenance.find(kStale) != std::string::npos) {
      throw UsageError(
          "{}: the times of the sweep '{}' are of a kernel as it was, and no recording of it as it "
          "is: {}",
          path().string(), sweep_name, provenance);
    }
    results = impl_->results(filter, {}, dimensions);
    std::erase_if(results.trials, [&](const TrialRow& trial) { return !is_recorded(trial); });
    for (TrialRow& trial : results.trials) {
      TrialRow whole = read_whole_trial(dimensions, trial.id).value();
      whole.record.verification = std::move(trial.record.verification);
      trial = std::move(whole);
    }
  });
  Recording recording;
  recording.sweep = sweep_name;
  recording.device = device;
  for (TrialRow& row : results.trials) {
    const std::string date = row.record.finished_at.substr(0, 10);
    recording.recorded_at = std::max(recording.recorded_at, date);
    recording.trials.push_back(std::move(row.record));
  }
  std::ranges::stable_sort(recording.trials, [](const TrialRecord& a, const TrialRecord& b) {
    return a.finished_at < b.finished_at;
  });
  for (BaselineRow& row : results.baselines) {
    if (is_recorded(row)) recording.baselines.push_back(std::move(row.record));
  }
  for (RankRow& row : results.ranks) {
    if (is_recorded(row)) recording.ranks.push_back(std::move(row.record));
  }
  return recording;
}

}  // namespace assay
