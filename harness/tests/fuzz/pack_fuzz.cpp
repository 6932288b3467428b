// A pack. What begins with a brace is an index, which is put into a pack that is whole: mutation
// finds no hash. What is read can be planned for the first of its problems.

#include "base/error.h"
#include "fuzz_target.h"
#include "pack/choice.h"

namespace assay {

void fuzz_pack(std::string_view text) {
  try {
    const std::string bytes =
        text.starts_with('{') ? seal_pack(std::string(text), "machine code") : std::string(text);
    std::string_view code;
    const Pack pack = read_pack(bytes, "x.pack", &code);
    for (const PackTable& table : pack.tables) {
      try {
        choose(pack, table.op, table.rows.front().problem, table.device, 16);
      } catch (const UsageError&) {
      }
    }
  } catch (const UsageError&) {
  }
}

}  // namespace assay
