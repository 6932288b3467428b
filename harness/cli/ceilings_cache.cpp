#include "cli/ceilings_cache.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/bounded_json.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "messages/messages.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// The clock of short work repeats within a step or two of 15 MHz. A clock that someone has set
// differs by more.
constexpr double kSameClockRatio = 0.05;

fs::path file_of(const DeviceInfo& device) {
  std::string name = (device.uuid.empty() ? device.slug() : device.uuid) + '-' + device.driver;
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.';
      },
      '_');
  return cache_directory() / "ceilings" / (name + ".json");
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
    try {
      return message::decode<Ceilings>(json.at("ceilings"));
    } catch (const Error&) {
      return std::nullopt;
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;
  }
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

}  // namespace assay
