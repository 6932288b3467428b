// Several databases into a new one. The key of a trial is its content, so the numbers of rows mean
// nothing outside their file: each row is read as what it says and stored as if it had been
// measured here, in the order in which all was measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/interrupt.h"
#include "store/impl.h"
#include "store/owner.h"
#include "store/trial_rows.h"

namespace assay {
namespace {

// Times of one configuration that differ by more are a conflict; `compare` has the same margin.
constexpr double kMarginRatio = 0.02;

struct Source {
  const Store* store;
  Database& database;
  Dimensions dimensions;
  SmallTable<std::int64_t> sweeps{"sweep"};  // its number there, its number here
};

struct SweepRow {
  Source* source = nullptr;
  std::int64_t id = 0;
  std::int64_t device = 0;
  std::string name, yaml, command_line, state, started_at;
  std::optional<std::string> ended_at = {};
  Owner owner = {};
  std::string no_earlier_than = {};  // when it began, or one before it in its file
};

std::vector<SweepRow> read_sweeps(Source& source) {
  std::vector<SweepRow> rows;
  for (Query row = source.database.query(
           "SELECT id, device_id, name, yaml, command_line, state, started_at, ended_at, host, "
           "boot_id, pid, process_start FROM sweep ORDER BY id");
       row.step();) {
    SweepRow sweep{&source,    row.integer(), row.integer(), row.text(),
                   row.text(), row.text(),    row.text(),    row.text()};
    if (!row.is_null()) sweep.ended_at = row.text(7);
    sweep.owner = {row.text(8), row.text(9), row.integer(10), row.integer(11)};
    sweep.no_earlier_than =
        rows.empty() ? sweep.started_at : std::max(sweep.started_at, rows.back().no_earlier_than);
    rows.push_back(std::move(sweep));
  }
  return rows;
}

/// The number here of a sweep that another source may have brought already.
std::int64_t put_sweep(Database& database, const SweepRow& sweep) {
  const StoredDevice& device = sweep.source->dimensions.devices.at(sweep.device);
  const std::int64_t device_here = device_id(database, device.info, device.provenance);
  const auto same = database.find(
      "SELECT id FROM sweep WHERE device_id = ? AND name = ? AND started_at = ? AND host = ? AND "
      "boot_id = ? AND pid = ? AND process_start = ?",
      device_here, sweep.name, sweep.started_at, sweep.owner.host, sweep.owner.boot_id,
      sweep.owner.pid, sweep.owner.process_start);
  if (same) return *same;
  // Nothing that runs finishes anything in this file.
  const std::string state = sweep.state == "running" ? "interrupted" : sweep.state;
  return database.insert("sweep", {{"device_id", device_here},
                                   {"name", sweep.name},
                                   {"yaml", sweep.yaml},
                                   {"command_line", sweep.command_line},
                                   {"state", state},
                                   {"started_at", sweep.started_at},
                                   {"ended_at", sweep.ended_at},
                                   {"host", sweep.owner.host},
                                   {"boot_id", sweep.owner.boot_id},
                                   {"pid", sweep.owner.pid},
                                   {"process_start", sweep.owner.process_start}});
}

/// The outcome that a trial has so far, without its samples, and where it is from.
struct Kept {
  Kept(const TrialRecord& trial, const Store& store)
      : outcome(trial.outcome), finished_at(trial.finished_at), source(&store) {
    outcome.message.clear();
    if (outcome.timing) {
      outcome.timing->samples_ns = {};
      outcome.timing->clocks_mhz = {};
    }
  }
  Outcome outcome;
  std::string finished_at;
  const Store* source;
};

bool contradict(const Outcome& a, const Outcome& b) {
  if (weight_of(a) < 2 || weight_of(b) < 2) return false;
  if (a.status != b.status || a.kind != b.kind) return true;
  if (!a.timing || !b.timing || a.timing->censored() || b.timing->censored()) return false;
  const double ratio = a.timing->median_ns / b.timing->median_ns;
  return std::abs(ratio - 1) > kMarginRatio;
}

/// Why the one is kept and not the other.
const char* reason_of(const Kept& kept, const Kept& other) {
  if (weight_of(kept.outcome) > weight_of(other.outcome)) {
    return "what was wrong once is not right because it passed another time";
  }
  return kept.finished_at > other.finished_at ? "it is the newer" : "it came first";
}

/// Whether both are one measurement, which two of the files have.
bool is_same(const Kept& a, const Kept& b) {
  const auto median_ns = [](const Kept& kept) {
    return kept.outcome.timing ? kept.outcome.timing->median_ns : 0;
  };
  return a.finished_at == b.finished_at && median_ns(a) == median_ns(b);
}

std::string outcome_text(const Kept& kept) {
  const Outcome& outcome = kept.outcome;
  std::string text(to_text(outcome.status));
  if (!outcome.kind.empty()) text += '/' + outcome.kind;
  if (outcome.timing) text += fmt::format(", {:.1f} ns", outcome.timing->median_ns);
  return fmt::format("{} ({}) in {}", text, kept.finished_at, kept.source->path().string());
}

class Merge {
 public:
  Merge(Store::Impl& impl, Merged& merged) : impl_(impl), merged_(merged), keys_(impl.database) {}

  void put_trials(Source& source);
  void put_baselines(Source& source);
  void put_ranks(std::vector<Source>& sources);
  void put_screened(Source& source);

 private:
  std::int64_t put(Source& source, std::int64_t sweep, const TrialRow& row);

  Store::Impl& impl_;
  Merged& merged_;
  KeyWriter keys_;
  std::map<std::int64_t, Kept> kept_;  // by the trial's number here
};

void Merge::put_trials(Source& source) {
  static const std::string sql =
      select_trials("trial.message", "true ORDER BY trial.id", ", trial.sweep_id");
  const auto verifications = read_verifications(source.dimensions);
  std::map<std::int64_t, std::int64_t> trials;  // its number there, its number here
  for (Query reader = source.database.query(sql); reader.step();) {
    check_interrupt();
    TrialRow row = read_trial(reader, source.dimensions);
    const std::int64_t sweep = reader.integer();
    row.record.measurements = read_measurements(source.database, row.id);
    const auto verified = verifications.find(row.id);
    if (verified != verifications.end()) row.record.verification = verified->second;
    trials[row.id] = put(source, source.sweeps.at(sweep), row);
  }
  for (Query query = source.database.query("SELECT trial_id, sweep_id FROM sweep_trial");
       query.step();) {
    const auto trial = trials.find(query.integer(0));
    if (trial != trials.end()) impl_.link(source.sweeps.at(query.integer(1)), trial->second);
  }
  merged_.num_unfinished +=
      source.database.integer("SELECT count(*) FROM trial WHERE status = 'running'");
}

std::int64_t Merge::put(Source& source, std::int64_t sweep, const TrialRow& row) {
  const TrialRecord& record = row.record;
  const std::int64_t device = device_id(impl_.database, row.device, row.provenance);
  const KeyIds ids = keys_.ids(record);
  const auto known = ids.is_new ? std::nullopt : trial_state(impl_.database, device, ids);
  const Kept other(record, *source.store);
  if (!known) {
    const std::int64_t id = impl_.put_trial(sweep, device, ids, record);
    kept_.emplace(id, other);
    return id;
  }
  Kept& stored = kept_.at(known->id);
  const bool is_other =
      is_better(other.outcome, other.finished_at, stored.outcome, stored.finished_at);
  const Kept& better = is_other ? other : stored;
  const Kept& worse = is_other ? stored : other;
  if (contradict(other.outcome, stored.outcome)) {
    merged_.conflicts.push_back(
        fmt::format("{} {} on {}, {}: {}; {} is kept: {}", record.kernel.name,
                    to_text(record.config), to_text(record.problem), row.device.name,
                    outcome_text(worse), outcome_text(better), reason_of(better, worse)));
  } else if (weight_of(worse.outcome) > 0 && !is_same(other, stored)) {
    ++merged_.num_repeated;
  }
  if (!is_other) return impl_.put_trial(sweep, device, ids, record);
  impl_.put_trial(sweep, device, ids, record, Store::Impl::IfDone::replace);
  stored = other;
  return known->id;
}

void Merge::put_baselines(Source& source) {
  for (const StoredBaseline& baseline : read_stored_baselines(source.dimensions)) {
    const BaselineRow& row = baseline.row;
    const std::int64_t device = device_id(impl_.database, row.device, row.provenance);
    if (impl_.has_baseline(device, row.record)) continue;
    impl_.put_baseline(source.sweeps.at(baseline.sweep), device, row.record);
  }
}

void Merge::put_ranks(std::vector<Source>& sources) {
  struct Head {
    Source* source;
    RankHead head;
    std::string no_earlier_than;  // when it ended, or one before it in its file
  };
  std::vector<Head> heads;
  for (Source& source : sources) {
    std::string latest;
    for (RankHead& head : read_rank_heads(source.dimensions)) {
      latest = std::max(latest, head.row.record.finished_at);
      heads.push_back({&source, std::move(head), latest});
    }
  }
  // The newest verdict holds, and that is the one with the highest number. Within a file that is
  // the last: its clock may have been set back.
  std::ranges::stable_sort(
      heads, [](const Head& a, const Head& b) { return a.no_earlier_than < b.no_earlier_than; });
  const auto put = [this](Source& source, RankHead& head) {
    read_entries(source.dimensions, head);
    const std::int64_t device = device_id(impl_.database, head.row.device, head.row.provenance);
    if (impl_.has_rank(device, head.row.record)) return;
    impl_.put_rank(source.sweeps.at(head.sweep), device, head.row.record);
  };
  for (Head& each : heads) each.source->database.guarded([&] { put(*each.source, each.head); });
}

void Merge::put_screened(Source& source) {
  for (Query query = source.database.query("SELECT sweep_id, op, problem_id FROM screened");
       query.step();) {
    const Problem& problem = source.dimensions.problems.at(query.integer(2));
    impl_.put_screened(source.sweeps.at(query.integer(0)), query.text(1), problem);
  }
}

}  // namespace

Merged Store::merge(std::span<const Store> sources) {
  Database& database = impl_->database;
  return database.guarded([&] {
    std::vector<Source> read;
    std::vector<std::unique_ptr<Transaction>> moments;  // of the sources, which sweeps may write to
    std::vector<SweepRow> sweeps;
    read.reserve(sources.size());  // a SweepRow points at its source
    for (const Store& source : sources) {
      Database& from = source.impl_->database;
      from.guarded([&] {
        moments.push_back(std::make_unique<Transaction>(from, Transaction::Mode::read));
        read.push_back({&source, from, Dimensions(from)});
        for (SweepRow& sweep : read_sweeps(read.back())) sweeps.push_back(std::move(sweep));
      });
    }
    std::ranges::stable_sort(sweeps, [](const SweepRow& a, const SweepRow& b) {
      return a.no_earlier_than < b.no_earlier_than;
    });
    Merged merged;
    Transaction transaction(database, Transaction::Mode::write);
    for (const SweepRow& sweep : sweeps) {
      sweep.source->database.guarded(
          [&] { sweep.source->sweeps[sweep.id] = put_sweep(database, sweep); });
    }
    Merge merge(*impl_, merged);
    for (Source& source : read) {
      source.database.guarded([&] {
        merge.put_trials(source);
        merge.put_baselines(source);
        merge.put_screened(source);
      });
    }
    merge.put_ranks(read);
    merged.num_trials = database.integer("SELECT count(*) FROM trial");
    merged.num_verdicts = database.integer("SELECT count(*) FROM rank");
    transaction.commit();
    // Moves the WAL into the file and ends it: who renames the file would leave it behind. Other
    // than a checkpoint, this fails where the disk is full.
    database.exec("PRAGMA journal_mode = DELETE");
    return merged;
  });
}

}  // namespace assay
