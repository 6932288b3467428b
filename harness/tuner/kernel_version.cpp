#include "tuner/kernel_version.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "compile/source_tree.h"
#include "space/launched.h"
#include "space/plan.h"
#include "spec/entry.h"

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

CompileJob compile_job(const KernelSpec& kernel, const Problem& problem, const Config& config,
                       const DeviceInfo& info, const std::string& arch,
                       const std::vector<std::filesystem::path>& include_directories) {
  return {kernel.source_path,
          include_path(kernel, include_directories),
          macros_of(kernel, config),
          arch,
          launched_entries(kernel, config, info),
          {defines(kernel, problem, config, info), kernel.compile.std,
           is_fast_math(kernel, config, info), max_registers(kernel, config, info),
           compiler_options(kernel, config, info)}};
}

CompileJob own_compile_job(const KernelSpec& kernel, const ReferenceKernelSpec& own,
                           const Problem& problem, const DeviceInfo& info, const std::string& arch,
                           const std::vector<std::filesystem::path>& include_directories,
                           bool fast_math) {
  const bool is_of_op = !kernel.op_path.empty();
  const CompileSettings settings{own_defines(kernel, own, problem, info),
                                 is_of_op ? CompileSpec().std : kernel.compile.std,
                                 fast_math && !is_of_op};
  return {own.source,
          own_include_path(kernel, include_directories),
          reference_macros(kernel, own, problem),
          arch,
          {instantiate(own.entry, sizes_of(kernel, problem))},
          settings};
}

bool is_same_code(const KernelSpec& kernel, const Problem& problem, const DeviceInfo& device,
                  const Config& a, const std::string& cubin_hash_a, const Config& b,
                  const std::string& cubin_hash_b) {
  if (cubin_hash_a.empty() || cubin_hash_a != cubin_hash_b) return false;
  try {
    Plan plan = make_plan(kernel, problem, a, device);
    plan.config = b;
    return plan == make_plan(kernel, problem, b, device);
  } catch (const PlanError&) {
    return false;
  }
}

void keep_one_of_each_code(std::vector<Candidate>& correct, const Problem& problem,
                           const DeviceInfo& device) {
  std::ranges::sort(correct, [](const Candidate& a, const Candidate& b) {
    const auto key = [](const Candidate& candidate) {
      return std::tuple(!candidate.same_as.empty(), candidate.censored, candidate.median_ns);
    };
    if (key(a) != key(b)) return key(a) < key(b);
    return to_text(a.config) < to_text(b.config);
  });
  std::multimap<std::pair<const KernelSpec*, std::string>, Config> kept;
  std::erase_if(correct, [&](const Candidate& candidate) {
    const std::string& hash = candidate.compile.cubin_hash;
    const std::pair key(candidate.kernel, hash);
    const auto [begin, end] = kept.equal_range(key);
    const bool is_another = std::any_of(begin, end, [&](const auto& other) {
      return is_same_code(*candidate.kernel, problem, device, candidate.config, hash, other.second,
                          hash);
    });
    if (!is_another) kept.emplace(key, candidate.config);
    return is_another;
  });
}

}  // namespace assay
