// `assay import FILE`: the trials of a recording into a database, marked as recorded.
#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/terminal.h"
#include "cli/verbs.h"
#include "store/store.h"

namespace assay {
namespace {

struct ImportOptions {
  std::string file;
  std::string db = "results/assay.db";
};

int run_import(const ImportOptions& options) {
  const RecordingPortions portions = read_portions(options.file);
  const std::filesystem::path db(options.db);
  create_folder_of(db);
  Store store = Store::open(db);
  const Imported imported = store.import(portions);
  std::string known;
  if (imported.num_known > 0) {
    known = fmt::format("; {} had a result already, and that of {} was replaced",
                        imported.num_known, imported.num_replaced);
  }
  print_out("{}: {} trials of {}, recorded on {}{}\n", options.db, imported.num_trials,
            imported.sweep, imported.device_name, known);
  return kExitDone;
}

}  // namespace

void add_import(Command program) {
  auto [verb, options] =
      program.add_verb<ImportOptions>("import", "put recorded trials into a database", run_import);
  verb.add_option("FILE", options->file,
                  "a recording (.jsonl), or results of Kernel Tuner, T4, KTT or BAT (.json, .csv); "
                  ".gz or not")
      .required();
  verb.add_option("--db PATH [results/assay.db]", options->db,
                  "database to add them to; made if it is missing");
  verb.footer("example: assay import results/recorded/nvidia_h200/gemm.jsonl");
}

}  // namespace assay
