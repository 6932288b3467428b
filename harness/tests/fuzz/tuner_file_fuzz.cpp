// A file of another tuner: T4 results or a Kernel Tuner cachefile, packed or not.

#include "base/error.h"
#include "fuzz_target.h"
#include "store/store.h"

namespace assay {

void read_input(std::string_view text) {
  static const InputFile plain("x.json");
  static const InputFile packed("x.json.gz");
  try {
    const bool is_packed = text.starts_with("\x1f\x8b");
    const Recording recording = read_recording((is_packed ? packed : plain).with(text));
    Store store = Store::in_memory();
    store.import(recording);
    store.results({});
  } catch (const UsageError&) {
  }
}

}  // namespace assay
