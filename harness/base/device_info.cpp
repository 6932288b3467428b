#include "base/device_info.h"

#include <cctype>

#include <fmt/format.h>

#include "base/error.h"

namespace assay {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;

struct Nominal {
  std::string_view arch;
  std::string_view model;  // whose figures these are
  int cc;
  int sm_count;
  std::int64_t smem_optin_bytes;
  std::int64_t l2_bytes;
  std::int64_t memory_bytes;
};

constexpr Nominal kNominal[] = {
    {"80", "A100", 80, 108, 163 * kKiB, 40 * kMiB, 80 * kGiB},
    {"86", "A40", 86, 84, 99 * kKiB, 6 * kMiB, 48 * kGiB},
    {"89", "L40S", 89, 142, 99 * kKiB, 96 * kMiB, 48 * kGiB},
    {"90", "H200", 90, 132, 227 * kKiB, 60 * kMiB, 141 * kGiB},
    {"90a", "H200", 90, 132, 227 * kKiB, 60 * kMiB, 141 * kGiB},
    {"90a", "H100", 90, 132, 227 * kKiB, 50 * kMiB, 80 * kGiB},
    {"100", "B200", 100, 148, 227 * kKiB, 126 * kMiB, 180 * kGiB},
    {"100a", "B200", 100, 148, 227 * kKiB, 126 * kMiB, 180 * kGiB},
    {"120", "RTX 5090", 120, 170, 99 * kKiB, 96 * kMiB, 32 * kGiB},
    {"120a", "RTX 5090", 120, 170, 99 * kKiB, 96 * kMiB, 32 * kGiB},
};

DeviceInfo info_of(const Nominal& nominal) {
  DeviceInfo info;
  info.name = fmt::format("nominal sm_{} ({})", nominal.arch, nominal.model);
  info.cc = nominal.cc;
  info.sm_count = nominal.sm_count;
  info.smem_optin_bytes = nominal.smem_optin_bytes;
  info.l2_bytes = nominal.l2_bytes;
  info.memory_bytes = nominal.memory_bytes;
  return info;
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
  std::string known;
  for (const Nominal& nominal : kNominal) {
    if (known.ends_with(nominal.arch)) continue;
    if (!known.empty()) known += separator;
    known += nominal.arch;
  }
  return known;
}

DeviceInfo nominal_device(std::string_view arch) {
  for (const Nominal& nominal : kNominal) {
    if (nominal.arch == arch) return info_of(nominal);
  }
  throw UsageError(fmt::format("unknown arch \"{}\"; known are {}", arch, known_archs(", ")));
}

std::optional<DeviceInfo> nominal_model(std::string_view name) {
  for (const Nominal& nominal : kNominal) {
    if (name.find(nominal.model) != std::string_view::npos) return info_of(nominal);
  }
  return std::nullopt;
}

}  // namespace assay
