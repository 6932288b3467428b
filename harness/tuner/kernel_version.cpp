#include "tuner/kernel_version.h"

#include <algorithm>
#include <system_error>

#include "base/file.h"
#include "base/hash.h"
#include "compile/source_tree.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

fs::path real_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::canonical(folder.empty() ? "." : folder, ignored);
}

/// The compiler quotes what it reads in its log, which people show to each other. A contract of
/// somebody else must not name a folder of this machine that its user did not.
void check_given(const IncludeSpec& own, const KernelSpec& kernel,
                 const std::vector<fs::path>& include_directories) {
  const fs::path folder = real_folder(own.folder);
  const auto holds = [&](const fs::path& other) {
    const fs::path root = real_folder(other);
    return !root.empty() && is_inside(folder, root);
  };
  if (holds(kernel.yaml_path.parent_path()) || std::ranges::any_of(include_directories, holds)) {
    return;
  }
  throw SpecError(own.where,
                  "{0} lies outside of the contract's folder; if the kernel may read what is "
                  "there, name it: --include {0}",
                  folder.string());
}

}  // namespace

std::vector<std::filesystem::path> include_path(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories) {
  std::vector<fs::path> path;
  for (const IncludeSpec& own : kernel.compile.include) {
    check_given(own, kernel, include_directories);
    path.push_back(own.folder);
  }
  path.insert(path.end(), include_directories.begin(), include_directories.end());
  return path;
}

std::vector<std::filesystem::path> own_include_path(
    const KernelSpec& kernel, const std::vector<std::filesystem::path>& include_directories) {
  return kernel.op_path.empty() ? include_path(kernel, include_directories) : include_directories;
}

KernelVersion version_of(const KernelSpec& kernel,
                         const std::vector<std::filesystem::path>& include_directories) {
  std::string source_hash =
      SourceTree::read(kernel.source_path, include_path(kernel, include_directories)).hash;
  const std::vector<fs::path> folders = own_include_path(kernel, include_directories);
  for (const ReferenceKernelSpec* own : own_kernels(kernel)) {
    source_hash = Hasher().add(source_hash).add(SourceTree::read(own->source, folders).hash).hex();
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
    const std::vector<fs::path> folders = own_include_path(kernel, include_directories);
    hasher.add(SourceTree::read(step.kernel->source, folders).hash);
  }
  return baseline.name + ":" + hasher.hex();
}

}  // namespace assay
