// A file of another tuner: JSON, a table, or either packed.

#include "base/error.h"
#include "fuzz_target.h"
#include "store/store.h"

namespace assay {

void fuzz_tuner_file(std::string_view text) {
  static const InputFile plain("x.json");
  static const InputFile packed("x.json.gz");
  static const InputFile table("x.csv");
  try {
    const bool is_json = text.starts_with('{') || text.starts_with('[');
    const InputFile& file = is_json ? plain : text.starts_with("\x1f\x8b") ? packed : table;
    const Recording recording = read_recording(file.with(text));
    Store store = Store::in_memory();
    store.import(recording);
    store.results({});
  } catch (const UsageError&) {
  }
}

}  // namespace assay
