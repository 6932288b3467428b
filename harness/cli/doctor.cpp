// `assay doctor`: what this machine has, and whether numbers measured here can be trusted.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/library.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/gpu_setup.h"
#include "cli/include_path.h"
#include "cli/verbs.h"
#include "compile/nvrtc_compiler.h"
#include "cuda/device_query.h"
#include "cuda/gpu_count.h"
#include "device/gpu_device.h"
#include "report/doctor_view.h"
#include "report/table.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// Cubins of a full sweep take some hundred MiB.
constexpr std::uintmax_t kLeastFreeBytes = std::uintmax_t{1} << 30;
/// How much the worker's self-test reads, cold and hot.
constexpr std::int64_t kSelfTestReadBytes = std::int64_t{32} << 20;

struct DoctorOptions {
  std::string device = "all";
  bool json = false;
};

/// Where a library with this name is mapped, now that it is loaded; empty when it is not.
std::string loaded_path(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.find("/" + name, path) != std::string::npos) {
      return line.substr(path);
    }
  }
  return "";
}

Finding look_for(const std::string& topic, const std::vector<std::string>& names,
                 const LibraryFolders& folders, const std::string& advice) {
  try {
    const Library library(topic, names, folders, advice);
    return {topic, loaded_path(names.front().substr(0, names.front().rfind('.')))};
  } catch (const Error& error) {
    return {topic, "not found", Fitness::missing, error.what()};
  }
}

std::unique_ptr<Compiler> look_for_compiler(std::vector<Finding>& findings) {
  try {
    auto compiler = std::make_unique<NvrtcCompiler>(CompilerOptions{cache_directory()});
    findings.push_back({"NVRTC",
                        fmt::format("{}, {}, {} threads", compiler->nvrtc_version(),
                                    loaded_path("libnvrtc.so"), compiler->num_threads()),
                        compiler->warning().empty() ? Fitness::ok : Fitness::suspicious,
                        compiler->warning()});
    const std::string headers = compiler->header_folder();
    findings.push_back({"headers", headers.empty() ? "none" : headers,
                        headers.empty() ? Fitness::note : Fitness::ok,
                        headers.empty() ? "kernels cannot include the toolkit's" : ""});
    return compiler;
  } catch (const Error& error) {
    findings.push_back({"NVRTC", "not found", Fitness::missing, error.what()});
    return nullptr;
  }
}

Finding look_at_cache() {
  const auto [cache, warning] = cache_folder();
  std::uintmax_t bytes = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator it(cache, ignored), end; it != end; it.increment(ignored)) {
    // Another process may remove what was just listed.
    const auto size = it->is_regular_file(ignored) ? it->file_size(ignored) : 0;
    if (!ignored) bytes += size;
  }
  fs::path existing = cache;
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) {
    existing = existing.parent_path();
  }
  const std::uintmax_t available = fs::space(existing, ignored).available;
  Finding finding{"cache",
                  fmt::format("{} holds {}; {} free", cache.string(), format_bytes(bytes),
                              format_bytes(available)),
                  warning.empty() ? Fitness::ok : Fitness::note, warning};
  if (::access(existing.c_str(), W_OK) != 0) {
    finding.mark(Fitness::missing,
                 fmt::format("cannot write there: {}; set XDG_CACHE_HOME to a folder elsewhere",
                             std::generic_category().message(errno)));
  } else if (available < kLeastFreeBytes) {
    finding.mark(Fitness::suspicious,
                 "free some disk, or set XDG_CACHE_HOME to a folder elsewhere");
  }
  return finding;
}

Finding look_for_files(const std::string& folder) {
  std::size_t count = 0;
  std::error_code ignored;
  const std::string path = here_or_shipped(folder).string();
  for (fs::directory_iterator it(path, ignored), end; it != end; it.increment(ignored)) {
    if (it->path().extension() == ".yaml") ++count;
  }
  if (count > 0) return {folder, fmt::format("{} in {}/", count, path)};
  return {folder, "none here", Fitness::note, "run assay where the folders kernels and sweeps are"};
}

ComparedGpu look_at_gpu(int index, Compiler& compiler, std::vector<Finding>& findings) {
  GpuDevice gpu({index, {}});
  const DeviceInfo& info = gpu.info();
  const std::string name = fmt::format("GPU {}", index);
  findings.push_back(
      {name,
       fmt::format("{}, compute capability {}.{}, {} SMs, {} shared memory a block, L2 {}, {}",
                   info.name, info.cc / 10, info.cc % 10, info.sm_count,
                   format_bytes(info.smem_optin_bytes), format_bytes(info.l2_bytes),
                   format_bytes(info.memory_bytes))});

  const Ceilings ceilings = set_up_gpu(gpu, compiler);
  SelfTest test = gpu.self_test();
  const SelfMeasurement measured{std::move(test), info.l2_bytes,    kSelfTestReadBytes,
                                 ceilings,        gpu.vitals().mps, info.is_slice()};
  for (Finding& finding : assess(name, measured)) findings.push_back(std::move(finding));
  return {name, info.name, ceilings};
}

/// The last line of the report, and whether the machine is fit for what it can do.
struct Conclusion {
  std::string text;
  bool fit = true;
};

Conclusion conclude(bool can_compile, bool has_gpu, const std::vector<Finding>& findings) {
  if (!can_compile) {
    return {"nothing can be compiled here; results can be shown, compared and exported", false};
  }
  if (!has_gpu) {
    return {
        "no GPU: this machine can compile (sweep --device none), replay recorded trials, and "
        "show and export results",
        true};
  }
  for (const Finding& finding : findings) {
    if (finding.fitness == Fitness::missing) {
      return {fmt::format("nothing can be measured here without {}", finding.topic), false};
    }
    if (finding.fitness == Fitness::suspicious && finding.topic.starts_with("GPU")) {
      return {"times measured here could mislead; see what to do above", false};
    }
  }
  return {"fit to measure", true};
}

int run_doctor(const DoctorOptions& options) {
  int only = -1;  // the one that is looked at; -1: all
  if (options.device != "all") {
    only = number_of<int>(options.device).value_or(-1);
    if (only < 0) {
      throw UsageError("--device {} is not a GPU's index, which counts from 0, nor all",
                       options.device);
    }
  }
  std::vector<Finding> findings{{"assay", ASSAY_VERSION}};
  const std::unique_ptr<Compiler> compiler = look_for_compiler(findings);

  std::string reason;
  const int num_gpus = count_gpus(reason);
  if (num_gpus > 0) {
    const std::string driver = driver_version();
    const int cuda = driver_cuda_version();
    findings.push_back(
        {"driver",
         fmt::format("{}, CUDA {}.{}, {} GPU{}", driver.empty() ? "version unknown" : driver,
                     cuda / 1000, cuda / 10 % 100, num_gpus, num_gpus == 1 ? "" : "s")});
  } else {
    findings.push_back({"driver", "no GPU", Fitness::note, reason});
  }
  const std::string toolkit = "install the CUDA toolkit 12.8 or later, or set CUDA_HOME";
  findings.push_back(
      look_for("cuBLAS", {"libcublas.so.13", "libcublas.so.12"}, toolkit_libraries(), toolkit));
  findings.push_back(look_for("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"},
                              toolkit_libraries(), toolkit));
  Finding nvml = look_for("NVML", {"libnvidia-ml.so.1"}, {}, "it comes with the NVIDIA driver");
  // Sweeps run without NVML. They then do not know why a clock was held down.
  if (nvml.fitness == Fitness::missing) nvml.fitness = Fitness::note;
  findings.push_back(std::move(nvml));
  if (std::ifstream params("/proc/driver/nvidia/params"); num_gpus > 0 && params) {
    const std::string text{std::istreambuf_iterator<char>(params), {}};
    findings.push_back(judge_counters(text, geteuid() == 0));
  }
  findings.push_back(look_at_cache());
  const bool can_compile = compiler && findings.back().fitness != Fitness::missing;
  findings.push_back(look_for_files("kernels"));
  findings.push_back(look_for_files("sweeps"));

  if (num_gpus > 0 && can_compile) {
    if (only >= num_gpus) {
      throw UsageError("--device {}: this machine has GPUs 0 to {}", only, num_gpus - 1);
    }
    std::vector<ComparedGpu> gpus;
    for (int index = std::max(only, 0); index < (only < 0 ? num_gpus : only + 1); ++index) {
      try {
        gpus.push_back(look_at_gpu(index, *compiler, findings));
      } catch (const Error& error) {
        findings.push_back(
            {fmt::format("GPU {}", index), "does not work", Fitness::suspicious, error.what()});
      }
    }
    for (Finding& finding : compare_gpus(gpus)) findings.push_back(std::move(finding));
  }
  const Conclusion conclusion = conclude(can_compile, num_gpus > 0, findings);
  print_out("{}", options.json ? doctor_json(findings, conclusion.text, conclusion.fit)
                               : doctor_text(findings, conclusion.text, stdout_terminal()));
  return conclusion.fit ? kExitDone : kExitMachine;
}

}  // namespace

void add_doctor(Command program) {
  auto [verb, options] = program.add_verb<DoctorOptions>(
      "doctor", "what this machine has, and whether its clock, flush and noise can be trusted",
      run_doctor);
  verb.add_option("--device INDEX|all", options->device,
                  "the GPU to examine; default: all of them, compared with each other");
  verb.add_flag("--json", options->json, "print JSON instead of tables");
  verb.footer(
      "example: assay doctor --device 1\n"
      "exit code 3: nothing can be compiled here, or times could mislead; a missing GPU is no "
      "fault");
}

}  // namespace assay
