// `assay db`: looks after the database file, joins several into one, and forgets on purpose.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
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

int check(const fs::path& path) try {
  require_file(path);
  const Store store = Store::open_readonly(path);
  const std::vector<std::string> problems = store.check();
  for (const std::string& problem : problems) print_out("{}: {}\n", path.string(), problem);
  if (problems.empty()) {
    for (const std::string& note : store.counted_otherwise()) {
      print_out("{}: note: {}\n", path.string(), note);
    }
    print_out("{}: ok\n", path.string());
  }
  return problems.empty() ? kExitDone : kExitNo;
} catch (const DamagedDatabase& damage) {
  print_out("{0}: damaged file: {1}; `sqlite3 {0} .recover` writes what can still be read\n",
            path.string(), damage.how);
  return kExitNo;
}

int vacuum(const fs::path& path) {
  require_file(path);
  const auto before = fs::file_size(path);
  Store::open(path).vacuum();
  print_out("{}: {} before, {} now\n", path.string(), format_bytes(static_cast<double>(before)),
            format_bytes(static_cast<double>(fs::file_size(path))));
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

int merge(const std::vector<std::string>& paths, const fs::path& output) {
  if (fs::exists(output)) refuse_existing(output);
  for (const char* suffix : {"-wal", "-journal"}) {
    // SQLite would take its rows for those of the new database.
    if (!fs::exists(output.string() + suffix)) continue;
    throw UsageError("{0}{1} is left of another database {0}, which is gone; remove it",
                     output.string(), suffix);
  }
  std::vector<Store> sources;
  for (const std::string& path : paths) sources.push_back(Store::open_readonly(path));
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
            merged.num_trials, merged.num_verdicts, paths.size(), merged.conflicts.size());
  return kExitDone;
}

int say_deleted(const fs::path& path, const Deleted& deleted) {
  print_out("{}: deleted {} trials, {} verdicts, {} baselines\n", path.string(), deleted.trials,
            deleted.verdicts, deleted.baselines);
  return kExitDone;
}

int forget(const fs::path& path, bool transient, const std::string& kernel) {
  if (transient != kernel.empty()) {
    throw UsageError("assay db forget: expected --transient or --kernel NAME");
  }
  require_file(path);
  Store store = Store::open(path);
  if (transient) return say_deleted(path, store.forget_machine_faults());
  const Deleted deleted = store.forget_kernel(kernel);
  if (deleted.trials > 0) return say_deleted(path, deleted);
  print_err("{} has no trial of kernel {}\n", path.string(), kernel);
  return kExitNo;
}

int prune(const fs::path& path) {
  require_file(path);
  return say_deleted(path, Store::open(path).prune());
}

}  // namespace

void add_db(Command program) {
  auto path = std::make_shared<std::string>("results/assay.db");
  const auto add_path = [path](Command verb) {
    verb.add_option("--db,PATH", *path, "the database; default: results/assay.db");
  };
  Command verb = program.add_command("db", "check, merge or shrink databases of results");
  verb.require_command();
  verb.footer("example: assay db check --db results/assay.db");

  Command check_verb = verb.add_command(
      "check", "look for damage, broken references and trials that nothing will finish");
  add_path(check_verb);
  check_verb.footer(
      "example: assay db check --db results/assay.db\nexit code 1 when anything is wrong");
  check_verb.runs([path] { return check(*path); });

  Command vacuum_verb = verb.add_command("vacuum", "give free pages back to the disk");
  add_path(vacuum_verb);
  vacuum_verb.footer("example: assay db vacuum --db results/assay.db");
  vacuum_verb.runs([path] { return vacuum(*path); });

  auto paths = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<std::string>();
  Command merge_verb = verb.add_command(
      "merge", "join databases and recordings into a new database; they stay as they are");
  merge_verb.add_option("PATH", *paths, "databases, or recordings (.jsonl)").required();
  merge_verb.add_option("--output FILE", *output, "the database to make").required();
  merge_verb.footer(
      "A trial that several have becomes one. Where their outcomes contradict each other, this is\n"
      "said, and one is kept: a failed check before all else, else the newest. A time measured "
      "again\n"
      "within 2 % is no contradiction; how many there are is said. Verdicts are all kept.\n"
      "example: assay db merge monday.db tuesday.db --output week.db");
  merge_verb.runs([paths, output] { return merge(*paths, *output); });

  auto transient = std::make_shared<bool>(false);
  auto kernel = std::make_shared<std::string>();
  Command forget_verb =
      verb.add_command("forget", "delete trials, so that the next sweep measures them again");
  add_path(forget_verb);
  forget_verb.add_flag("--transient", *transient,
                       "those that failed because the machine did: a killed process, a full GPU");
  forget_verb.add_option("--kernel NAME", *kernel,
                         "all trials of this kernel, and the verdicts that it took part in");
  forget_verb.footer("example: assay db forget --kernel gemm_mma --db results/assay.db");
  forget_verb.runs([path, transient, kernel] { return forget(*path, *transient, *kernel); });

  Command prune_verb = verb.add_command(
      "prune", "delete what is superseded: older versions of kernels, verdicts that hold no more");
  add_path(prune_verb);
  prune_verb.footer(
      "What best and show print stays as it is. Earlier runs are gone for compare and history.\n"
      "example: assay db prune --db results/assay.db; assay db vacuum");
  prune_verb.runs([path] { return prune(*path); });
}

}  // namespace assay
