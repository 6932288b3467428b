#include "cli/recordings.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "store/gzip.h"
#include "tuner/kernel_version.h"

namespace assay {

namespace fs = std::filesystem;

std::vector<fs::path> find_recordings(const fs::path& project) {
  const fs::path root = project / "results" / "recorded";
  std::vector<fs::path> found;
  if (!fs::is_directory(root)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> recordings_of(const fs::path& project, const std::string& sweep_name) {
  std::vector<std::pair<std::ptrdiff_t, fs::path>> found;
  for (const fs::path& file : find_recordings(project)) {
    const std::string name = file.filename().string();
    if (name != sweep_name + ".jsonl" && name != sweep_name + ".jsonl.gz") continue;
    std::ptrdiff_t num_lines = 0;
    for (LineReader lines(file); lines.next();) ++num_lines;
    found.emplace_back(num_lines, file);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<fs::path> files;
  for (auto& [num_lines, file] : found) files.push_back(std::move(file));
  return files;
}

Recorded compare_with(const KernelSpec& kernel, const Recording& recording,
                      const std::vector<fs::path>& include_directories) {
  const KernelVersion version = version_of(kernel, include_directories);
  Recorded state = Recorded::current;
  for (const TrialRecord& trial : recording.trials) {
    if (trial.kernel.name != kernel.name) continue;
    if (trial.kernel.source_hash.empty() || trial.kernel.contract_hash.empty()) {
      state = Recorded::unknown;
    } else if (trial.kernel.source_hash != version.source_hash ||
               trial.kernel.contract_hash != version.contract_hash) {
      return Recorded::changed;
    }
  }
  return state;
}

}  // namespace assay
