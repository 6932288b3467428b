// A file of choices, as an input may be filled with.

#include "fuzz_target.h"
#include "spec/choices.h"

namespace assay {

void fuzz_choices(std::string_view text) {
  static const InputFile file("choices.txt");
  try {
    const Choices choices = read_choices(load_source(file.with(text)));
    if (choices.rows * choices.per_row != static_cast<std::int64_t>(choices.numbers.size())) {
      __builtin_trap();
    }
    choices.where(choices.numbers.size() - 1);
  } catch (const UsageError&) {
  }
}

}  // namespace assay
