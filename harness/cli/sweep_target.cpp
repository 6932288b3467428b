#include "cli/sweep_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/find_named.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/gpu_setup.h"
#include "cli/known_code.h"
#include "cuda/gpu_count.h"
#include "device/gpu_device.h"
#include "report/run.h"
#include "store/gzip.h"
#include "store/store.h"
#include "tuner/kernel_version.h"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// A file of another tuner. It names no sweep, and of its GPU at most the name.
Recording foreign_recording(const fs::path& file, const std::string& arch) {
  Recording recording = read_recording(file);
  const std::string name = recording.device.name;
  const auto limits = arch.empty() ? nominal_model(name) : nominal_device(arch);
  if (!limits) {
    throw UsageError(
        "{} is of {}, whose limits assay does not know: say with --arch which to "
        "compile and constrain for",
        file.string(), name);
  }
  recording.device = *limits;
  recording.device.name = name;
  return recording;
}

/// "NVIDIA H200" -> "an H200", "NVIDIA RTX A6000" -> "an RTX A6000", "Tesla T4" -> "a Tesla T4".
std::string with_article(std::string gpu) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (gpu.starts_with(kMaker)) gpu.erase(0, kMaker.size());
  const bool is_spelled = gpu.size() > 1 && std::islower(static_cast<unsigned char>(gpu[1])) == 0;
  const std::string_view vowels = is_spelled ? "AEFHILMNORSX" : "AEIOU";
  return fmt::format("a{} {}", vowels.find(gpu.front()) == std::string_view::npos ? "" : "n", gpu);
}

struct Replayed {
  Recording recording;
  std::vector<std::string> notes;  // on the kernels of which the recording is stale
};

Replayed read_replayed(const fs::path& file, const SweepSpec& sweep,
                       const std::vector<fs::path>& include_directories,
                       const std::string& arch_given) {
  Recording recording = is_tuner_file(file) ? foreign_recording(file, arch_given)
                                            : Store::open_readonly(file).record(sweep.name);
  if (recording.trials.empty()) throw UsageError("{}: no trials recorded", file.string());
  std::vector<std::string> notes;
  // A file of another tuner is taken for one of whatever kernel is swept.
  if (is_tuner_file(file)) return {std::move(recording), notes};
  for (const KernelSpec& kernel : sweep.kernels) {
    const Recorded state = compare_with(kernel, recording, include_directories);
    if (state == Recorded::changed) notes.push_back(stale_note(kernel.name));
    if (state == Recorded::unknown) notes.push_back(unknown_note(kernel.name));
  }
  return {std::move(recording), std::move(notes)};
}

/// The project's fullest recording of the sweep; a stale one only where no other is there. A
/// recording has a line for each trial. Throws UsageError naming one that cannot be read.
std::optional<Replayed> own_recording(const fs::path& project, const SweepSpec& sweep,
                                      const std::vector<fs::path>& include_directories) {
  std::vector<std::pair<std::ptrdiff_t, fs::path>> found;
  for (const fs::path& file : find_recordings(project)) {
    const std::string name = file.filename().string();
    if (name != sweep.name + ".jsonl" && name != sweep.name + ".jsonl.gz") continue;
    std::ptrdiff_t num_lines = 0;
    for (LineReader lines(file); lines.next();) ++num_lines;
    found.emplace_back(num_lines, file);
  }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::optional<Replayed> stale;
  for (const auto& [num_lines, file] : found) {
    Replayed replayed = read_replayed(file, sweep, include_directories, "");
    if (replayed.notes.empty()) return replayed;
    if (!stale) stale = std::move(replayed);
  }
  return stale;
}

Target replay_target(Replayed replayed) {
  std::unique_ptr<Device> device = make_replay_device(std::move(replayed.recording));
  std::string provenance = device->provenance();
  for (const std::string& note : replayed.notes) provenance += note;
  const std::string arch = native_arch(device->info().cc);
  return {std::move(device), provenance, arch, false};
}

std::vector<int> parse_device_list(const std::string& text) {
  std::vector<int> indices;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const int index = number_of<int>(text.substr(start, comma - start)).value_or(-1);
    if (index < 0) {
      throw UsageError(
          "--device: expected a GPU's index, a list such as 0,1, all, none, "
          "emulate or replay:FILE, found \"" +
          text + "\"");
    }
    if (std::ranges::find(indices, index) != indices.end()) {
      throw UsageError("--device {}: GPU {} is named twice", text, index);
    }
    indices.push_back(index);
    start = comma + 1;
  }
  return indices;
}

}  // namespace

fs::path replayed_file(const std::string& device) {
  constexpr std::string_view kPrefix = "replay:";
  return device.starts_with(kPrefix) ? device.substr(kPrefix.size()) : "";
}

Target gpu_target(int index, Compiler& compiler) {
  auto gpu = std::make_unique<GpuDevice>(GpuOptions{index, {}});
  set_up_gpu(*gpu, compiler);
  const std::string arch = native_arch(gpu->info().cc);
  return {std::move(gpu), "", arch, false};
}

std::vector<int> choose_gpus(const std::string& device, std::string& no_gpu_reason) {
  if (device == "none" || !replayed_file(device).empty()) return {};
  if (!device.empty() && device != "all") {
    const std::vector<int> indices = parse_device_list(device);
    if (indices.size() == 1) return indices;  // its worker says whether it is there
    const int num_gpus = count_gpus(no_gpu_reason);
    if (num_gpus == 0) throw Error("--device {}: {}", device, no_gpu_reason);
    for (const int index : indices) {
      if (index < num_gpus) continue;
      throw Error("--device {}: no GPU {}: the driver reports {} of them, counted from 0", device,
                  index, num_gpus);
    }
    return indices;
  }
  const int num_gpus = count_gpus(no_gpu_reason);
  if (num_gpus == 0 && device == "all") throw Error("--device all: " + no_gpu_reason);
  std::vector<int> indices;
  for (int i = 0; i < num_gpus && (i == 0 || device == "all"); ++i) indices.push_back(i);
  return indices;
}

Target target_without_gpu(const std::string& device, const std::string& arch_given,
                          const fs::path& project, const SweepSpec& sweep,
                          const std::vector<fs::path>& include_directories,
                          const std::string& no_gpu_reason) {
  if (device == "none") {
    const std::string arch = arch_given.empty() ? "90a" : arch_given;
    return {make_compile_only_device(nominal_device(arch)), "", arch, true};
  }
  if (!device.empty()) {
    return replay_target(
        read_replayed(replayed_file(device), sweep, include_directories, arch_given));
  }
  std::optional<Replayed> replayed = own_recording(project, sweep, include_directories);
  if (!replayed) {
    throw Error(
        "{}, and results/recorded has no recording of {}; run with --device "
        "emulate to check a sample on the CPU, none to compile only, or replay:FILE",
        no_gpu_reason, sweep.name);
  }
  Target target = replay_target(std::move(*replayed));
  const std::string gpu = target.device->info().name;
  print_err("no GPU here: times are replayed from {}{}\n", with_article(gpu),
            target.provenance.substr(std::string("recorded on " + gpu).size()));
  return target;
}

std::vector<fs::path> find_recordings(const fs::path& project) {
  const fs::path root = project / "results" / "recorded";
  std::vector<fs::path> found;
  if (!fs::is_directory(root)) return found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
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

void choose_problems(const std::string& text, SweepSpec& sweep) {
  const Problem asked = parse_problem(text);
  const auto is_dim = [&](const std::string& name) {
    return std::ranges::any_of(sweep.kernels, [&](const KernelSpec& kernel) {
      return std::ranges::find(kernel.dims, name) != kernel.dims.end();
    });
  };
  const Problem& pattern = sweep.problems.front();
  for (const auto& [dim, value] : asked) {
    if (!find_value(pattern, dim)) {
      throw UsageError("--problem: {} has no dimension or trait \"{}\"; it has {}", sweep.name, dim,
                       to_text(pattern));
    }
    if (is_dim(dim)) check_size(dim, value);
  }
  std::vector<Problem> kept;
  for (const Problem& problem : sweep.problems) {
    const auto agrees = [&](const auto& entry) {
      return *find_value(problem, entry.first) == entry.second;
    };
    if (std::ranges::all_of(asked, agrees)) kept.push_back(problem);
  }
  if (kept.empty() && asked.size() == pattern.size()) {
    Problem ordered = pattern;
    for (auto& [dim, value] : ordered) value = *find_value(asked, dim);
    kept.push_back(ordered);
  }
  if (kept.empty()) {
    throw UsageError(
        "--problem {}: no problem of {} agrees; name all of {} to run one "
        "that the sweep does not list",
        text, sweep.name, to_text(pattern));
  }
  sweep.problems = std::move(kept);
}

void choose_logged_problems(const std::string& file, SweepSpec& sweep) {
  const std::string text = read_file(file);
  const Problem& pattern = sweep.problems.front();
  std::vector<Problem> logged;
  std::size_t line = 0;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string row = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t space = std::min(row.find(' '), row.size());
    const auto is_of_op = [&](const KernelSpec& kernel) {
      return kernel.op == row.substr(0, space);
    };
    if (std::ranges::none_of(sweep.kernels, is_of_op)) continue;
    try {
      const Problem found = parse_problem(row.substr(std::min(space + 1, row.size())));
      const bool same_names =
          std::equal(found.begin(), found.end(), pattern.begin(), pattern.end(),
                     [](const auto& a, const auto& b) { return a.first == b.first; });
      if (!same_names) throw UsageError("expected {}", to_text(pattern));
      add_once(logged, found);
    } catch (const UsageError& error) {
      throw UsageError("{}:{}: {}", file, line + 1, error.what());
    }
  }
  if (logged.empty()) {
    throw UsageError("--sizes {}: no line is of {}", file, sweep.kernels.front().op);
  }
  sweep.problems = std::move(logged);
}

void choose_shard(const std::string& text, SweepSpec& sweep) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto shard = number_of<std::size_t>(text.substr(0, slash)).value_or(0);
  const auto count =
      number_of<std::size_t>(text.substr(std::min(slash + 1, text.size()))).value_or(0);
  if (shard < 1 || shard > count) {
    throw UsageError("--shard: expected two numbers as 3/8, the first 1 to 8, found \"{}\"", text);
  }
  if (count > sweep.problems.size()) {
    throw UsageError("--shard {}: {} has {} problems, so at most as many shards", text, sweep.name,
                     sweep.problems.size());
  }
  std::vector<Problem> kept;
  for (std::size_t i = shard - 1; i < sweep.problems.size(); i += count) {
    kept.push_back(sweep.problems[i]);
  }
  sweep.problems = std::move(kept);
}

}  // namespace assay
