#include "cli/gpu_setup.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/terminal.h"
#include "cuda/device_query.h"
#include "messages/messages.h"
#include "support/support_source.h"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// A driver refuses machine code of a later major version of CUDA than its own.
void check_driver(const Compiler& compiler) {
  const int driver = driver_cuda_version();
  if (driver == 0 || std::stoi(compiler.nvrtc_version()) <= driver / 1000) return;
  throw Error(
      "NVRTC is of CUDA {}, and the driver runs what CUDA {}.{} makes; update the driver, or name "
      "an older toolkit by CUDA_HOME",
      compiler.nvrtc_version(), driver / 1000, driver / 10 % 100);
}

/// The worker's own kernels as a file. What the cache held under the name is not believed.
fs::path write_support_source() {
  const fs::path folder = cache_directory();
  const fs::path source = folder / ("support-" + hash_hex(support_source()) + ".cu");
  std::error_code ignored;
  const bool is_whole = fs::is_regular_file(source, ignored) &&
                        fs::file_size(source, ignored) == support_source().size() &&
                        read_file(source) == support_source();
  if (!is_whole) write_file_atomic(source, support_source());
  return source;
}

fs::path compile_support(const GpuDevice& gpu, Compiler& compiler) {
  const CompileResult support =
      compiler.submit({write_support_source(), {}, {}, native_arch(gpu.info().cc)}).get();
  if (!support.ok) throw Error("the worker's own kernels do not compile: " + support.log);
  return support.cubin_path;
}

// The clock of short work repeats within a step or two of 15 MHz. A clock that someone has set
// differs by more.
constexpr double kSameClockRatio = 0.05;

fs::path file_of(const DeviceInfo& device) {
  std::string name = (device.uuid.empty() ? device.slug() : device.uuid) + '-' + device.driver;
  std::ranges::replace_if(
      name,
      [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.';
      },
      '_');
  return cache_directory() / "ceilings" / (name + ".json");
}

void save_ceilings(const DeviceInfo& device, const Ceilings& ceilings) {
  nlohmann::json json{{"device", device.name},
                      {"uuid", device.uuid},
                      {"driver", device.driver},
                      {"ceilings", message::encode(ceilings)}};
  json["hash"] = hash_hex(json.dump());
  const fs::path file = file_of(device);
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) throw Error("cannot make " + file.parent_path().string() + ": " + error.message());
  write_file_atomic(file, json.dump(2) + '\n');
}

Ceilings ensure_ceilings(GpuDevice& gpu, const Vitals& vitals) {
  const auto kept = load_ceilings(gpu.info());
  if (kept && std::abs(vitals.clock_mhz - kept->clock_mhz) <= kSameClockRatio * kept->clock_mhz) {
    return *kept;
  }
  const Ceilings measured = gpu.measure_ceilings();
  save_ceilings(gpu.info(), measured);
  return measured;
}

}  // namespace

std::optional<Ceilings> load_ceilings(const DeviceInfo& device) {
  const fs::path file = file_of(device);
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  try {
    const std::string text = read_file(file);
    check_json(text, file.string());
    auto json = nlohmann::json::parse(text);
    const std::string hash = json.at("hash").get<std::string>();
    json.erase("hash");
    const bool is_of_device = json.at("device") == device.name && json.at("uuid") == device.uuid &&
                              json.at("driver") == device.driver;
    if (!is_of_device || hash != hash_hex(json.dump())) return std::nullopt;
    return message::decode<Ceilings>(json.at("ceilings"));
  } catch (const nlohmann::json::exception&) {
  } catch (const FormattedError&) {
  }
  return std::nullopt;
}

void set_up_emulator(GpuDevice& emulator, Compiler& compiler) {
  emulator.setup(compile_support(emulator, compiler), std::nullopt);
}

Ceilings set_up_gpu(GpuDevice& gpu, Compiler& compiler) {
  check_driver(compiler);
  const fs::path support = compile_support(gpu, compiler);
  gpu.setup(support, std::nullopt);
  const Vitals vitals = gpu.vitals();
  if (vitals.num_processes.value_or(1) > 1) {
    print_err(
        "warning: other processes ({}) use {}: times may be too long, and nothing else will "
        "say so; see nvidia-smi\n",
        *vitals.num_processes - 1, gpu.info().name);
  }
  if (vitals.mps) {
    print_err(
        "warning: {} is shared by CUDA's multi-process service (MPS): other programs may run "
        "beside what is timed; stop it with: echo quit | nvidia-cuda-mps-control\n",
        gpu.info().name);
  }
  if (gpu.info().is_slice()) {
    print_err(
        "warning: {} is a slice of a GPU (MIG): its results are kept under this name, and other "
        "slices may disturb them\n",
        gpu.info().name);
  }
  const Ceilings ceilings = ensure_ceilings(gpu, vitals);
  gpu.setup(support, ceilings);
  return ceilings;
}

}  // namespace assay
