#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/rank.h"

namespace assay {

/// What claim() found.
enum class Claim {
  fresh,  // ours to run: the row says `running` from now on
  done,   // stored already
  taken,  // another live sweep is running it
};

/// Which rows a query returns; an empty field matches all.
struct Filter {
  std::string op = {};
  std::string kernel = {};
  std::string problem = {};  // text, "M=16,N=4096,K=4096"; every dim named must match
  std::string device = {};   // name, slug or UUID
  std::optional<Status> status = {};
  std::string sweep = {};
  // What only results() knows:
  std::int64_t run = 0;    // number of one run of a sweep, as in StoredSweep
  bool is_ranked = false;  // only trials of questions that have a verdict
};

/// One run of a sweep.
struct StoredSweep {
  std::int64_t id = 0;
  std::string name;
  std::string state;       // "running", "done", "interrupted" or "failed"
  std::string started_at;  // UTC
  DeviceInfo device;
};

/// A stored record as a query returns it.
template <class Record>
struct Row {
  std::int64_t id = 0;
  DeviceInfo device;
  std::string provenance;  // see Question
  Record record;
  std::string command_line = {};  // of a trial's sweep; only Store::trial says so
};
using TrialRow = Row<TrialRecord>;
using BaselineRow = Row<BaselineRecord>;
using RankRow = Row<RankRecord>;

/// What a row answers.
template <class Record>
Question question_of(const Row<Record>& row) {
  const Record& record = row.record;
  Question question{{}, record.problem, row.device, record.protocol.name, row.provenance};
  if constexpr (std::same_as<Record, TrialRecord>) {
    question.op = record.kernel.op;
  } else {
    question.op = record.op;
  }
  return question;
}
/// Whether it answers this question, on whichever device of that name.
bool answers(const TrialRow& row, const Question& question);
/// Whether it answers this question of its op on this very device, whatever the protocol.
template <class Record>
bool is_current(const Row<Record>& row, const Question& asked) {
  return row.record.problem == asked.problem && row.device == asked.device &&
         row.provenance == asked.provenance;
}
/// The same of times, which also need the protocol.
template <class Record>
bool is_comparable(const Row<Record>& row, const Question& asked) {
  return is_current(row, asked) && row.record.protocol.name == asked.protocol;
}

/// What a filter asks about, and what is known of it.
struct Results {
  /// Of each question what may win it, and what failed beside: see store/results.cpp. Without
  /// samples, as from Store::trials; oldest first within a question.
  std::vector<TrialRow> trials;
  std::vector<BaselineRow> baselines;
  /// The newest verdict, of each objective, on exactly the correct ones among these trials. A
  /// question whose candidates were never ranked together has none.
  std::vector<RankRow> ranks;
};

/// Whether a trial is wanted among results, of which all but the trials is known. Asked for each,
/// in the order in which they would come.
using KeepTrial = std::function<bool(const TrialRow& trial, const Results& results)>;

/// What a merge did.
struct Merged {
  std::int64_t num_trials = 0;      // that the new database has
  std::int64_t num_verdicts = 0;    // likewise
  std::int64_t num_unfinished = 0;  // trials that were still running, and are left out
  /// Measurements of a trial that another source had measured, too, with no other outcome. Those
  /// that tell most are in the new database, the others stay in their files.
  std::int64_t num_repeated = 0;
  /// Of each configuration that has outcomes which contradict each other, a sentence that says
  /// which is kept, and why.
  std::vector<std::string> conflicts;
};

/// How many rows a deletion took.
struct Deleted {
  std::int64_t trials = 0;
  std::int64_t verdicts = 0;
  std::int64_t baselines = 0;
};

/// A recording bit by bit: each call returns some of it, and nothing after its end. All that is
/// returned has the recording's sweep, device and date.
using RecordingPortions = std::function<std::optional<Recording>()>;

/// What an import has read.
struct Imported {
  std::string sweep;
  std::string device_name;
  std::size_t num_trials = 0;
  std::size_t num_known = 0;     // of these, that had a result already
  std::size_t num_replaced = 0;  // of the known, whose result tells less or is older
};

/// A database that cannot be read, or not all of it. what() advises to check it.
struct DamagedDatabase : Error {
  DamagedDatabase(const std::string& what, std::string_view why) : Error(what), how(why) {}
  std::string how;
};

/// The results database. One connection is for one thread. Several processes may share the file
/// (WAL, busy timeout).
///
/// Every method throws Error, with a sentence that names the file, when the disk is full or the
/// file is read-only, locked for too long or damaged. What was stored before stays.
class Store {
 public:
  /// Opens or creates the database. Throws UsageError when the file is not SQLite
  /// or is another program's (application_id), and when open_readonly would take the name for a
  /// recording's; Error when it comes from another version of Assay (user_version).
  /// `lock_timeout` is how long any method waits for another process's transaction.
  static Store open(const std::filesystem::path& path,
                    std::chrono::milliseconds lock_timeout = std::chrono::seconds(30));
  /// Opens for reading; a recording (.jsonl, .jsonl.gz) is imported into one of its own. Throws
  /// UsageError when there is no such file, too.
  static Store open_readonly(const std::filesystem::path& path);
  static Store in_memory();

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::filesystem::path& path() const;

  /// Registers this run of a sweep; its trials and ranks belong to it. `yaml` is the file's text.
  std::int64_t begin_sweep(const std::string& name, const std::string& yaml,
                           const std::string& command_line, const DeviceInfo& device,
                           const std::string& provenance);
  /// `state`: "done", "interrupted" or "failed".
  void end_sweep(std::int64_t sweep_id, const std::string& state);

  /// Claims a trial for this process before its launch. If the process that claimed it earlier
  /// has ended, the trial is claimed anew. After two such ends it is stored as
  /// runtime/interrupted, and this returns `done`.
  Claim claim(std::int64_t sweep_id, const TrialKey& key);
  /// Stores the outcome of a claimed trial in one transaction.
  void finish(std::int64_t sweep_id, const TrialRecord& record);
  /// Gives a claim back unmeasured (Ctrl-C).
  void release(std::int64_t sweep_id, const TrialKey& key);

  /// The stored trial of a key on the sweep's device, with its samples, if it is done.
  std::optional<TrialRecord> find(std::int64_t sweep_id, const TrialKey& key) const;
  /// The stored trials of these keys on the sweep's device, each in its key's place, without
  /// samples; nothing for those that are not done. What is found becomes a result of this sweep,
  /// too.
  std::vector<std::optional<TrialRecord>> reuse(std::int64_t sweep_id,
                                                std::span<const TrialKey> keys);
  /// Stores an outcome in the place of the one that is stored, which does not answer what is
  /// asked now. A fault of the machine takes no other outcome's place.
  enum class IfWrong { keep, replace };  // what is stored as wrong and passes now
  void replace(std::int64_t sweep_id, const TrialRecord& record, IfWrong if_wrong = IfWrong::keep);
  /// Notes that the sweep has tried all that it will of this op and problem.
  void end_screening(std::int64_t sweep_id, const std::string& op, const Problem& problem);
  /// Whether there is a verdict of this identity on the sweep's device, with a winner.
  bool is_ranked(std::int64_t sweep_id, const RankRecord& asked) const;

  void add_baseline(std::int64_t sweep_id, const BaselineRecord& record);
  void add_rank(std::int64_t sweep_id, const RankRecord& record);

  /// Stores further figures of a trial, each in the place of one of the same name. False where the
  /// trial was forgotten since it was read.
  bool add_measurements(const TrialRow& trial, const std::vector<Measurement>& measurements);
  /// The same of the trial of a key on the sweep's device. Nothing where there is none.
  void add_measurements(std::int64_t sweep_id, const TrialKey& key,
                        const std::vector<Measurement>& measurements);
  /// Stores what the verification of a trial found, in the place of an earlier one's. False where
  /// the trial was forgotten since it was read.
  bool add_verification(const TrialRow& trial, const Verification& verification);

  /// The finished trials, oldest first. So that 10^5 of them fit in memory, they come without
  /// their samples, and messages are cut to 2000 characters. `trial` returns one in full.
  std::vector<TrialRow> trials(const Filter& filter) const;
  std::optional<TrialRow> trial(std::int64_t id) const;
  /// The newest of each (op, problem, device, provenance, protocol, name), with its samples.
  std::vector<BaselineRow> baselines(const Filter& filter) const;
  /// Every verdict that was ever stored, oldest first, whatever it says. Which of them holds is for
  /// results() to say.
  std::vector<RankRow> ranks(const Filter& filter) const;

  /// Every run of a sweep, oldest first.
  std::vector<StoredSweep> sweeps() const;

  /// What a filter asks about. If it names a run, that is what the run had when it ended: its
  /// trials and the verdicts that were made until then. `filter.status` only leaves trials out of
  /// the answer: which trials are current, and which verdicts hold, does not depend on it.
  ///
  /// With `keep`, what it refuses is not among the trials: of 10^6 trials, all do not fit in
  /// memory.
  Results results(const Filter& filter, const KeepTrial& keep = {}) const;
  /// The results of the sweeps named `sweep_name` on one device: of those called `device` (name,
  /// slug or UUID; any if empty), the one that ran such a sweep last. A device measured here comes
  /// before a replayed one. Throws UsageError when none ran it, and where it is the replay of a
  /// kernel that has changed since.
  Recording record(const std::string& sweep_name, const std::string& device = "") const;
  /// Adds a recording's rows as replayed results; rows already there are left alone. Either all
  /// are added or none. While one portion is stored, another thread reads the next.
  Imported import(const RecordingPortions& next_portion);
  Imported import(Recording recording);

  /// Copies all that the sources hold into this database, which is empty, and whose file has all of
  /// it then, without a WAL beside it. Each source is read as it is at one moment. Sweeps and
  /// verdicts come in the order in which they were made, so the newest of all is the current one.
  ///
  /// A trial that several sources have becomes one, which belongs to the sweeps of all. Of its
  /// outcomes a failed check is kept before any other, a fault of the machine only if there is no
  /// other, else the newest.
  Merged merge(std::span<const Store> sources);
  /// Deletes the trials that failed because the machine did.
  Deleted forget_machine_faults();
  /// Deletes a kernel's trials, of every version, and the verdicts that it took part in.
  Deleted forget_kernel(const std::string& name);
  /// Deletes what no result is shown of any more: trials and verdicts that results() leaves out,
  /// baselines that were measured again, sweeps of which nothing is left.
  Deleted prune();

  /// Pages, tables and columns, references, texts, rows that no process will finish, and verdicts
  /// that their own samples contradict: one sentence per problem found.
  std::vector<std::string> check() const;
  /// What verdicts count that their trials count otherwise, by a factor of two or more: a sentence
  /// for each. No damage, for a trial may have been counted again since.
  std::vector<std::string> counted_otherwise() const;
  /// Rewrites the file without the space that deleted rows left.
  void vacuum();

  struct Impl;  // store/impl.h: for the files of this folder

 private:
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Recordings as JSON Lines: a header line, then one line per trial, baseline and rank, in T4's
/// words (configuration, times, invalidity, correctness, measurements). `.gz` is gunzipped.
/// read_recording throws UsageError `file:line: what is wrong`; it takes the files of other
/// tuners too.
Recording read_recording(const std::filesystem::path& path);
/// The same with so many trials, baselines and verdicts at a time; no more of the file is in
/// memory. A damaged line is found when its portion is read.
RecordingPortions read_portions(const std::filesystem::path& path, std::size_t max_records = 1000);

/// So many trials at a time of a file of another tuner, .json or .csv, packed or not. It is a
/// Kernel Tuner cachefile, also of a tuner that was stopped, or results of T4, KTT or BAT, of which
/// most name neither GPU, kernel nor problem.
///
/// The kernels have no source hash, and the protocol is `hot`. A row that cannot be read is left
/// out, and a warning to stderr names it, as it says where runs of one configuration were put
/// together. Throws UsageError `file: which row: what is wrong` where no row can be read, or the
/// times have no unit.
RecordingPortions read_tuner_file(const std::filesystem::path& path, std::size_t max_trials);
/// By its name.
bool is_tuner_file(const std::filesystem::path& path);

/// Throws UsageError where it would be too large to be read (store/gzip.h).
void write_recording(const Recording& recording, const std::filesystem::path& path);

}  // namespace assay
