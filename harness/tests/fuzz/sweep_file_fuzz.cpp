// A sweep's YAML file, over the kernels that are shipped.

#include "base/error.h"
#include "fuzz_target.h"
#include "spec/sweep_spec.h"

namespace assay {

void fuzz_sweep_file(std::string_view text) {
  static const InputFile file("fuzz.yaml");
  try {
    load_sweep(file.with(text), std::filesystem::path(ASSAY_SOURCE_DIR) / "kernels");
  } catch (const UsageError&) {
  }
}

}  // namespace assay
