#include "cli/sweep_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/terminal.h"
#include "cli/gpu_setup.h"
#include "cli/recordings.h"
#include "cuda/gpu_count.h"
#include "device/compile_only_device.h"
#include "device/gpu_device.h"
#include "device/replay_device.h"
#include "report/run.h"
#include "store/store.h"

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
        fmt::format("{} is of {}, whose limits assay does not know: say with --arch which to "
                    "compile and constrain for",
                    file.string(), name));
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
  if (recording.trials.empty()) {
    throw UsageError(fmt::format("{}: no trials recorded", file.string()));
  }
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

/// The project's fullest recording of the sweep; a stale one only where no other is there.
std::optional<Replayed> own_recording(const fs::path& project, const SweepSpec& sweep,
                                      const std::vector<fs::path>& include_directories) {
  std::optional<Replayed> stale;
  for (const fs::path& file : recordings_of(project, sweep.name)) {
    Replayed replayed = read_replayed(file, sweep, include_directories, "");
    if (replayed.notes.empty()) return replayed;
    if (!stale) stale = std::move(replayed);
  }
  return stale;
}

Target replay_target(Replayed replayed) {
  auto device = std::make_unique<ReplayDevice>(std::move(replayed.recording));
  std::string provenance = device->provenance();
  for (const std::string& note : replayed.notes) provenance += note;
  const std::string arch = native_arch(device->info().cc);
  return {std::move(device), provenance, arch, false};
}

std::vector<int> parse_device_list(const std::string& text) {
  std::vector<int> indices;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    int index = -1;
    const char* end = text.data() + comma;
    if (std::from_chars(text.data() + start, end, index).ptr != end || index < 0) {
      throw UsageError(
          "--device: expected a GPU's index, a list such as 0,1, all, none, "
          "emulate or replay:FILE, found \"" +
          text + "\"");
    }
    if (std::find(indices.begin(), indices.end(), index) != indices.end()) {
      throw UsageError(fmt::format("--device {}: GPU {} is named twice", text, index));
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
  GpuOptions gpu_options;
  gpu_options.index = index;
  auto gpu = std::make_unique<GpuDevice>(gpu_options);
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
    if (num_gpus == 0) throw Error(fmt::format("--device {}: {}", device, no_gpu_reason));
    for (const int index : indices) {
      if (index < num_gpus) continue;
      throw Error(
          fmt::format("--device {}: no GPU {}: the driver reports {} of them, counted from 0",
                      device, index, num_gpus));
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
    return {std::make_unique<CompileOnlyDevice>(nominal_device(arch)), "", arch, true};
  }
  if (!device.empty()) {
    return replay_target(
        read_replayed(replayed_file(device), sweep, include_directories, arch_given));
  }
  std::optional<Replayed> replayed = own_recording(project, sweep, include_directories);
  if (!replayed) {
    throw Error(
        fmt::format("{}, and results/recorded has no recording of {}; run with --device "
                    "none to compile only, or --device replay:FILE",
                    no_gpu_reason, sweep.name));
  }
  Target target = replay_target(std::move(*replayed));
  const std::string gpu = target.device->info().name;
  print_err("no GPU here: times are replayed from {}{}\n", with_article(gpu),
            target.provenance.substr(std::string("recorded on " + gpu).size()));
  return target;
}

}  // namespace assay
