// `assay db check|migrate|vacuum`: looks after the database file, not after the results in it.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
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

int check(const fs::path& path) {
  require_file(path);
  const std::vector<std::string> problems = Store::open_readonly(path).check();
  for (const std::string& problem : problems) print_out("{}: {}\n", path.string(), problem);
  if (problems.empty()) print_out("{}: ok\n", path.string());
  return problems.empty() ? kExitDone : kExitNo;
}

int migrate(const fs::path& path) {
  require_file(path);
  Store::open(path);
  print_out("{}: up to date\n", path.string());
  return kExitDone;
}

int vacuum(const fs::path& path) {
  require_file(path);
  const auto before = fs::file_size(path);
  Store::open(path).vacuum();
  print_out("{}: {} before, {} now\n", path.string(), format_bytes(static_cast<double>(before)),
            format_bytes(static_cast<double>(fs::file_size(path))));
  return kExitDone;
}

}  // namespace

void add_db(Command program) {
  auto path = std::make_shared<std::string>("results/assay.db");
  const auto add_path = [path](Command verb) {
    verb.add_option("--db,PATH", *path, "the database; default: results/assay.db");
  };
  Command verb =
      program.add_command("db", "check a database of results, bring it up to date, or shrink it");
  verb.require_command();
  verb.footer("example: assay db check --db results/assay.db");

  Command check_verb = verb.add_command(
      "check", "look for damage, broken references and trials that nothing will finish");
  add_path(check_verb);
  check_verb.footer(
      "example: assay db check --db results/assay.db\nexit code 1 when anything is wrong");
  check_verb.runs([path] { return check(*path); });

  Command migrate_verb =
      verb.add_command("migrate", "bring a database of an older assay to the newest schema");
  add_path(migrate_verb);
  migrate_verb.footer("example: assay db migrate --db results/assay.db");
  migrate_verb.runs([path] { return migrate(*path); });

  Command vacuum_verb = verb.add_command("vacuum", "give free pages back to the disk");
  add_path(vacuum_verb);
  vacuum_verb.footer("example: assay db vacuum --db results/assay.db");
  vacuum_verb.runs([path] { return vacuum(*path); });
}

}  // namespace assay
