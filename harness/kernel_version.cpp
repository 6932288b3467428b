#include "kernel_version.h"

#include "base/hash.h"
#include "compile/source_tree.h"

namespace assay {

KernelVersion version_of(const KernelSpec& kernel,
                         const std::vector<std::filesystem::path>& include_directories) {
  const auto hash_of = [&](const std::filesystem::path& source) {
    return SourceTree::read(source, include_directories).hash();
  };
  std::string source_hash = hash_of(kernel.source_path);
  for (const ReferenceSpec& step : kernel.reference) {
    if (step.kernel)
      source_hash = Hasher().add(source_hash).add(hash_of(step.kernel->source)).hex();
  }
  return {kernel.name, kernel.op, source_hash, kernel.contract_hash};
}

}  // namespace assay
