// A recording, packed or not. What is read can be stored, asked for and written again.

#include <cstdlib>

#include "base/error.h"
#include "fuzz_target.h"
#include "store/store.h"

namespace assay {
namespace {

void check_written_again(const Recording& recording, const std::filesystem::path& path) {
  write_recording(recording, path);
  try {
    read_recording(path);
  } catch (const UsageError&) {
    std::abort();
  }
}

}  // namespace

void fuzz_recording(std::string_view text) {
  static const InputFile plain("x.jsonl");
  static const InputFile packed("x.jsonl.gz");
  try {
    const bool is_packed = text.starts_with("\x1f\x8b");
    const Recording recording = read_recording((is_packed ? packed : plain).with(text));
    check_written_again(recording, plain.folder() / "again.jsonl");
    Store store = Store::in_memory();
    store.import(recording);
    const Results results = store.results({});
    for (const TrialRow& row : results.trials) store.trial(row.id);
  } catch (const UsageError&) {
  }
}

}  // namespace assay
