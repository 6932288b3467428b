// `assay db`: looks after the database file, joins several into one, and forgets on purpose.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/verbs.h"
#include "report/table.h"
#include "store/store.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

void require_file(const fs::path& path) {
  if (path.empty()) throw UsageError("expected the path of a database, found an empty one");
  if (!fs::is_regular_file(path)) throw UsageError(path.string() + ": no such database");
}

/// Of all verbs.
struct DbOptions {
  std::string path = "results/assay.db";
  std::vector<std::string> sources;  // of a merge
  std::string output, kernel;
  bool transient = false;
};

int check(const DbOptions& options) try {
  const std::string& path = options.path;
  require_file(path);
  const Store store = Store::open_readonly(path);
  const std::vector<std::string> problems = store.check();
  for (const std::string& problem : problems) print_out("{}: {}\n", path, problem);
  if (!problems.empty()) return kExitNo;
  for (const std::string& note : store.counted_otherwise()) print_out("{}: note: {}\n", path, note);
  print_out("{}: ok\n", path);
  return kExitDone;
} catch (const DamagedDatabase& damage) {
  print_out("{0}: damaged file: {1}; `sqlite3 {0} .recover` writes what can still be read\n",
            options.path, damage.how);
  return kExitNo;
}

int vacuum(const DbOptions& options) {
  const auto size = [&] { return format_bytes(fs::file_size(options.path)); };
  require_file(options.path);
  const std::string before = size();
  Store::open(options.path).vacuum();
  print_out("{}: {} before, {} now\n", options.path, before, size());
  return kExitDone;
}

/// A database that is being made. Removes what was made under that name.
struct Unfinished {
  explicit Unfinished(fs::path file) : path(std::move(file)) { remove(); }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished() { remove(); }

  void remove() const {
    std::error_code ignored;
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path.string() + suffix, ignored);
  }

  fs::path path;
};

void refuse_existing(const fs::path& output) {
  throw UsageError(output.string() + " is there already; a merge makes a new database");
}

/// Gives a file another name, unless there is a file of that name: a sweep may have begun on it.
void publish(const fs::path& file, const fs::path& output) {
  std::error_code code;
  fs::create_hard_link(file, output, code);
  if (code == std::errc::file_exists) refuse_existing(output);
  if (!code) return;
  // A file system without links.
  if (fs::exists(output)) refuse_existing(output);
  fs::rename(file, output);
}

int merge(const DbOptions& options) {
  const fs::path output = options.output;
  if (fs::exists(output)) refuse_existing(output);
  for (const char* suffix : {"-wal", "-journal"}) {
    // SQLite would take its rows for those of the new database.
    if (!fs::exists(output.string() + suffix)) continue;
    throw UsageError("{0}{1} is left of another database {0}, which is gone; remove it",
                     output.string(), suffix);
  }
  std::vector<Store> sources;
  for (const std::string& path : options.sources) sources.push_back(Store::open_readonly(path));
  create_folder_of(output);
  // Whoever sees the file under its name sees all of it.
  const Unfinished unfinished(fmt::format("{}.merging{}", output.string(), ::getpid()));
  const Merged merged = Store::open(unfinished.path).merge(sources);
  publish(unfinished.path, output);
  for (const std::string& conflict : merged.conflicts) print_out("conflict: {}\n", conflict);
  if (merged.num_unfinished > 0) {
    print_err("{} trials that were still running are left out\n", merged.num_unfinished);
  }
  if (merged.num_repeated > 0) {
    print_out(
        "{} measurements were made of trials that another file has, too, and agree with it within "
        "2 %: the newest is kept of each, the others are only in their own files\n",
        merged.num_repeated);
  }
  print_out("{}: {} trials and {} verdicts of {} files; {} conflicts\n", output.string(),
            merged.num_trials, merged.num_verdicts, sources.size(), merged.conflicts.size());
  return kExitDone;
}

int say_deleted(const DbOptions& options, const Deleted& deleted) {
  print_out("{}: deleted {} trials, {} verdicts, {} baselines\n", options.path, deleted.trials,
            deleted.verdicts, deleted.baselines);
  return kExitDone;
}

int forget(const DbOptions& options) {
  const std::string& kernel = options.kernel;
  if (options.transient != kernel.empty()) {
    throw UsageError("assay db forget: expected --transient or --kernel NAME");
  }
  require_file(options.path);
  Store store = Store::open(options.path);
  if (options.transient) return say_deleted(options, store.forget_machine_faults());
  const Deleted deleted = store.forget_kernel(kernel);
  if (deleted.trials > 0) return say_deleted(options, deleted);
  print_err("{} has no trial of kernel {}\n", options.path, kernel);
  return kExitNo;
}

int prune(const DbOptions& options) {
  require_file(options.path);
  return say_deleted(options, Store::open(options.path).prune());
}

}  // namespace

void add_db(Command program) {
  Command verb = program.add_command("db", "check, merge or shrink databases of results");
  verb.require_command();
  verb.footer("example: assay db check --db results/assay.db");
  const auto add = [&](const char* name, const char* summary, int (*run)(const DbOptions&),
                       const char* footer) {
    auto added = verb.add_verb<DbOptions>(name, summary, run);
    added.first.footer(footer);
    if (run == merge) return added;
    added.first.add_option("--db,PATH", added.second->path,
                           "the database; default: results/assay.db");
    return added;
  };
  add("check", "look for damage, broken references and trials that nothing will finish", check,
      "example: assay db check --db results/assay.db\nexit code 1 when anything is wrong");
  add("vacuum", "give free pages back to the disk", vacuum,
      "example: assay db vacuum --db results/assay.db");

  auto [merging, merged] = add(
      "merge", "join databases and recordings into a new database; they stay as they are", merge,
      "A trial that several have becomes one. Where their outcomes contradict each other, this is\n"
      "said, and one is kept: a failed check before all else, else the newest. A time measured "
      "again\n"
      "within 2 % is no contradiction; how many there are is said. Verdicts are all kept.\n"
      "example: assay db merge monday.db tuesday.db --output week.db");
  merging.add_option("PATH", merged->sources, "databases, or recordings (.jsonl)").required();
  merging.add_option("--output FILE", merged->output, "the database to make").required();

  auto [forgetting, forgotten] =
      add("forget", "delete trials, so that the next sweep measures them again", forget,
          "example: assay db forget --kernel gemm_mma --db results/assay.db");
  forgetting.add_flag("--transient", forgotten->transient,
                      "those that failed because the machine did: a killed process, a full GPU");
  forgetting.add_option("--kernel NAME", forgotten->kernel,
                        "all trials of this kernel, and the verdicts that it took part in");

  add("prune", "delete what is superseded: older versions of kernels, verdicts that hold no more",
      prune,
      "What best and show print stays as it is. Earlier runs are gone for compare and history.\n"
      "example: assay db prune --db results/assay.db; assay db vacuum");
}

}  // namespace assay
