#include "base/device_info.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;

/// What a block may ask for: "CUDA C++ Programming Guide", Technical Specifications per Compute
/// Capability.
struct Capability {
  int cc;
  std::int64_t smem_optin_bytes;
};

constexpr Capability kCapabilities[] = {
    {75, 64 * kKiB},   {80, 163 * kKiB}, {86, 99 * kKiB},   {87, 163 * kKiB},
    {89, 99 * kKiB},   {90, 227 * kKiB}, {100, 227 * kKiB}, {103, 227 * kKiB},
    {110, 227 * kKiB}, {120, 99 * kKiB}, {121, 99 * kKiB},
};

struct Model {
  std::string_view name;  // all of it, in the form of key_of()
  int cc;
  int sm_count;
  std::int64_t l2_bytes;
  std::int64_t memory_bytes;
};

// From NVIDIA's white paper on the architecture, or else as named. The first of a compute
// capability stands for it.
constexpr Model kModels[] = {
    {"T4", 75, 40, 4 * kMiB, 15 * kGiB},  // deviceQuery
    {"2070 SUPER", 75, 40, 4 * kMiB, 8 * kGiB},
    {"2080 TI", 75, 68, 5632 * kKiB, 11 * kGiB},
    {"A100", 80, 108, 40 * kMiB, 80 * kGiB},
    {"A100 PCIE 40GB", 80, 108, 40 * kMiB, 40 * kGiB},
    {"A100 SXM4 40GB", 80, 108, 40 * kMiB, 40 * kGiB},
    {"A100 80GB PCIE", 80, 108, 40 * kMiB, 80 * kGiB},
    {"A100 SXM4 80GB", 80, 108, 40 * kMiB, 80 * kGiB},
    {"A40", 86, 84, 6 * kMiB, 48 * kGiB},
    {"A10", 86, 72, 6 * kMiB, 24 * kGiB},
    {"A4000", 86, 48, 4 * kMiB, 16 * kGiB},
    {"A6000", 86, 84, 6 * kMiB, 48 * kGiB},
    {"3090", 86, 82, 6 * kMiB, 24 * kGiB},
    {"JETSON AGX ORIN", 87, 16, 4 * kMiB, 64 * kGiB},
    {"L40S", 89, 142, 96 * kMiB, 48 * kGiB},
    {"L40", 89, 142, 96 * kMiB, 48 * kGiB},
    {"L4", 89, 58, 48 * kMiB, 24 * kGiB},
    {"4090", 89, 128, 72 * kMiB, 24 * kGiB},
    {"H200", 90, 132, 60 * kMiB, 141 * kGiB},  // deviceQuery
    {"H100 80GB HBM3", 90, 132, 50 * kMiB, 80 * kGiB},
    {"H100 PCIE", 90, 114, 50 * kMiB, 80 * kGiB},
    {"H100 NVL", 90, 132, 50 * kMiB, 94 * kGiB},
    {"B200", 100, 148, 126 * kMiB, 180 * kGiB},
    {"B300", 103, 148, 126 * kMiB, 268 * kGiB},  // L2: as B200, of whose size its dies are
    {"THOR", 110, 20, 32 * kMiB, 122 * kGiB},    // SMs and L2: deviceQuery
    {"5090", 120, 170, 96 * kMiB, 32 * kGiB},
    {"GB10", 121, 48, 24 * kMiB, 122 * kGiB},  // memory: deviceQuery
};

/// The words of a GPU's name in capitals, without those that tell no two models apart.
std::string key_of(std::string_view name) {
  constexpr std::string_view kIdle[] = {"NVIDIA", "TESLA", "GEFORCE", "QUADRO", "RTX"};
  std::string key, word;
  const auto end_word = [&] {
    if (std::ranges::find(kIdle, word) == std::end(kIdle) && !word.empty()) {
      key += (key.empty() ? "" : " ") + word;
    }
    word.clear();
  };
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') {
      end_word();
    } else {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  end_word();
  return key;
}

std::int64_t smem_optin_bytes(int cc) {
  std::int64_t bytes = 0;
  for (const Capability& capability : kCapabilities) {
    if (capability.cc <= cc) bytes = capability.smem_optin_bytes;
  }
  return bytes;
}

DeviceInfo info_of(const Model& model) {
  DeviceInfo info;
  info.name = fmt::format("nominal sm_{} ({})", native_arch(model.cc), model.name);
  info.cc = model.cc;
  info.sm_count = model.sm_count;
  info.smem_optin_bytes = smem_optin_bytes(model.cc);
  info.l2_bytes = model.l2_bytes;
  info.memory_bytes = model.memory_bytes;
  return info;
}

/// 90 of "90a"; nothing for what is no architecture.
std::optional<int> cc_of(std::string_view arch) {
  const char letter = arch.empty() ? '\0' : arch.back();
  if (letter == 'a' || letter == 'f') arch.remove_suffix(1);
  const int least = letter == 'f' ? 100 : letter == 'a' ? 90 : 10;
  const std::optional<int> number = number_of<int>(arch);
  return arch.size() <= 3 && number && *number >= least ? number : std::nullopt;
}

}  // namespace

bool DeviceInfo::is_slice() const { return name.find(" MIG ") != std::string::npos; }

std::string DeviceInfo::slug() const {
  std::string slug;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte)) {
      slug += static_cast<char>(std::tolower(byte));
    } else if (!slug.empty() && slug.back() != '_') {
      slug += '_';
    }
  }
  while (!slug.empty() && slug.back() == '_') slug.pop_back();
  return slug;
}

bool DeviceInfo::is_called(std::string_view wanted) const {
  return wanted == name || wanted == slug() || (!uuid.empty() && wanted == uuid);
}

std::string native_arch(int cc) { return fmt::format("{}{}", cc, cc >= 90 ? "a" : ""); }

std::string known_archs(std::string_view separator) {
  std::vector<int> known;
  for (const Capability& capability : kCapabilities) known.push_back(capability.cc);
  return fmt::format("{}", fmt::join(known, separator));
}

DeviceInfo nominal_device(std::string_view arch) {
  // An architecture that NVRTC knows and the table does not has the limits of the one before.
  const Model* nearest = nullptr;
  const std::optional<int> number = cc_of(arch);
  for (const Model& model : kModels) {
    if (!number || model.cc / 10 != *number / 10 || model.cc > *number) continue;
    if (nearest == nullptr || model.cc > nearest->cc) nearest = &model;
  }
  if (nearest == nullptr) {
    throw UsageError(
        "unknown arch \"{}\"; expected one of {}, also with an a from 90 on or an f from 100 on, "
        "such as 90a",
        arch, known_archs(", "));
  }
  DeviceInfo info = info_of(*nearest);
  info.cc = *number;
  info.name = fmt::format("nominal sm_{} ({})", arch, nearest->name);
  return info;
}

std::optional<DeviceInfo> nominal_model(std::string_view name) {
  const std::string key = key_of(name);
  for (const Model& model : kModels) {
    if (key == model.name) return info_of(model);
  }
  return std::nullopt;
}

}  // namespace assay
