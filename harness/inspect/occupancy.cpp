#include "inspect/occupancy.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

/// NVIDIA, "CUDA C++ Programming Guide", technical specifications per compute capability.
struct Limits {
  int cc;
  std::int64_t threads;
  std::int64_t blocks;
  std::int64_t smem_bytes;
};
constexpr std::int64_t kKiB = 1024;
constexpr Limits kLimits[] = {
    {80, 2048, 32, 164 * kKiB},  {86, 1536, 16, 100 * kKiB},  {87, 1536, 16, 164 * kKiB},
    {89, 1536, 24, 100 * kKiB},  {90, 2048, 32, 228 * kKiB},  {100, 2048, 32, 228 * kKiB},
    {103, 2048, 32, 228 * kKiB}, {120, 1536, 24, 100 * kKiB},
};
// An SM has four parts with 16384 registers each. A warp gets them in units of 256.
constexpr std::int64_t kParts = 4, kRegistersOfPart = 16384, kRegisterUnit = 256;
// The system takes 1 KiB of a block's shared memory, which is given in units of 128 bytes.
constexpr std::int64_t kSystemSmemBytes = 1024, kSmemUnit = 128;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

const Limits* limits_of(int cc) {
  const Limits* limits = std::find_if(std::begin(kLimits), std::end(kLimits),
                                      [&](const Limits& of) { return of.cc == cc; });
  return limits == std::end(kLimits) ? nullptr : limits;
}

}  // namespace

std::optional<std::int64_t> sm_threads(int cc) {
  const Limits* limits = limits_of(cc);
  return limits == nullptr ? std::nullopt : std::optional(limits->threads);
}

std::optional<Occupancy> occupancy_of(int cc, std::int64_t threads, int registers,
                                      std::int64_t smem_bytes) {
  const Limits* limits = limits_of(cc);
  if (limits == nullptr || threads <= 0 || registers <= 0) return std::nullopt;
  const std::int64_t warps = (threads + 31) / 32;
  const std::int64_t warps_of_part =
      kRegistersOfPart / round_up(std::int64_t{32} * registers, kRegisterUnit);
  const std::pair<std::int64_t, std::string_view> bounds[] = {
      {warps_of_part * kParts / warps, "registers"},
      {limits->smem_bytes / round_up(smem_bytes + kSystemSmemBytes, kSmemUnit), "shared memory"},
      {limits->threads / 32 / warps, "threads"},
      {limits->blocks, "blocks"},
  };
  const auto& least = *std::min_element(std::begin(bounds), std::end(bounds));
  Occupancy occupancy;
  // Of several that allow the same, the first in the list is named.
  for (const auto& [blocks, limit] : bounds) {
    if (blocks != least.first) continue;
    occupancy = {static_cast<int>(blocks), limit,
                 static_cast<double>(blocks * warps * 32) / static_cast<double>(limits->threads)};
    break;
  }
  return occupancy;
}

}  // namespace assay
