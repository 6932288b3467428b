#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/rank.h"
#include "compile/compiler.h"
#include "device/device.h"
#include "spec/kernel_spec.h"
#include "spec/sweep_spec.h"

namespace assay {

// What the options of `assay sweep` choose: where it runs (--device: GPUs by index, all, none,
// replay:FILE, or nothing), and for which problems.

/// Where a sweep runs, and what its results say about where they come from.
struct Target {
  std::unique_ptr<Device> device;
  std::string provenance;
  std::string arch;
  bool compile_only = false;
};

/// FILE of "replay:FILE"; empty if `device` is anything else.
std::filesystem::path replayed_file(const std::string& device);

/// The GPUs that `device` names; none when the sweep runs elsewhere, and then why, where a GPU was
/// looked for. Throws UsageError, and Error when one of several is not there: none of them is then
/// swept.
std::vector<int> choose_gpus(const std::string& device, std::string& no_gpu_reason);

/// A GPU whose worker is ready. Throws Error.
Target gpu_target(int index, Compiler& compiler);

/// A compiler for `arch` alone, or recorded trials: those that `device` names, else the project's
/// own recording of the sweep. Throws UsageError, and Error when there is none.
Target target_without_gpu(const std::string& device, const std::string& arch,
                          const std::filesystem::path& project, const SweepSpec& sweep,
                          const std::vector<std::filesystem::path>& include_directories,
                          const std::string& no_gpu_reason);

/// Every recording in PROJECT/results/recorded/GPU/, sorted by path.
std::vector<std::filesystem::path> find_recordings(const std::filesystem::path& project);

/// Whether a kernel is still the one that was recorded. `unknown`: the recording has no source
/// hash.
enum class Recorded { current, changed, unknown };

/// `changed`: the kernel's source, a header or the contract has changed since the recording.
Recorded compare_with(const KernelSpec& kernel, const Recording& recording,
                      const std::vector<std::filesystem::path>& include_directories);

/// `--problem`: keeps the problems that agree with every name in it. If it names all of them and
/// the sweep has no such problem, that problem is run instead. Throws UsageError.
void choose_problems(const std::string& text, SweepSpec& sweep);

/// `--sizes FILE`: the problems that programs with libassay logged for an op of the sweep's
/// kernels, instead of those that the sweep lists. Throws UsageError "FILE:LINE: ..." for a line
/// that is no such problem, and where the file has none of the op.
void choose_logged_problems(const std::string& file, SweepSpec& sweep);

/// `--shard 3/8`: every eighth problem, from the third on. Problems that lie beside each other in a
/// sweep are of like size, so that the shards are, too. Throws UsageError.
void choose_shard(const std::string& text, SweepSpec& sweep);

}  // namespace assay
