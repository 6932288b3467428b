#include "kernel_version.h"

#include "base/hash.h"
#include "compile/source_tree.h"

namespace assay {
std::vector<std::filesystem::path> include_path(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories) {
  std::vector<std::filesystem::path> path = kernel.compile.include;
  path.insert(path.end(), include_directories.begin(), include_directories.end());
  return path;
}

KernelVersion version_of(const KernelSpec& kernel,
                         const std::vector<std::filesystem::path>& include_directories) {
  const auto hash_of = [&](const std::filesystem::path& source) {
    return SourceTree::read(source, include_path(kernel, include_directories)).hash;
  };
  std::string source_hash = hash_of(kernel.source_path);
  for (const ReferenceKernelSpec* own : own_kernels(kernel)) {
    source_hash = Hasher().add(source_hash).add(hash_of(own->source)).hex();
  }
  return {kernel.name, kernel.op, source_hash, kernel.contract_hash};
}

std::string identity_of(const KernelSpec& kernel, const BaselineSpec& baseline,
                        const std::vector<std::filesystem::path>& include_directories) {
  if (baseline.steps.empty()) return baseline.name;
  Hasher hasher;
  hasher.add(baseline.hash);
  for (const ReferenceSpec& step : baseline.steps) {
    if (!step.kernel) continue;
    hasher.add(
        SourceTree::read(step.kernel->source, include_path(kernel, include_directories)).hash);
  }
  return baseline.name + ":" + hasher.hex();
}

}  // namespace assay
