// The harness's own kernels on the host: support.cu, run by one block of one thread.
#include "kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include "support/support_kernels.h"

namespace fake {
namespace {

struct Index {
  unsigned x;
};
const Index threadIdx = {0}, blockDim = {1}, gridDim = {1};
Index blockIdx = {0};
struct float2 {
  float x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};

// Of memory that a block shares, one thread writes only its own part; the others stay zero.
#define __shared__ thread_local
#define __global__
#define __device__
#define __forceinline__
#define __noinline__
thread_local volatile unsigned shared[1];

void __syncthreads() {}
template <typename T>
T __shfl_down_sync(unsigned, T, int) {
  return 0;  // there are no other lanes
}
template <typename T>
void atomicAdd(T* to, T value) {
  *to += value;
}
template <typename T>
void atomicMax(T* to, T value) {
  *to = std::max(*to, value);
}

float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
float __logf(float x) { return std::log(x); }
float __sinf(float x) { return std::sin(x); }
float __cosf(float x) { return std::cos(x); }
using std::isinf;

// Those of ptx.cu.
float approximate_sqrt(float x) { return std::sqrt(x); }
unsigned short f16_bits(float value) {
  return std::bit_cast<unsigned short>(static_cast<_Float16>(value));
}
float f16_value(unsigned short bits) { return std::bit_cast<_Float16>(bits); }

#include <elements.cu>
#include <inputs.cu>
#include <operations.cu>
#include <outputs.cu>

template <typename... Args, std::size_t... kIndices>
void call(void (*kernel)(Args...), void** arguments, std::index_sequence<kIndices...>) {
  kernel(argument<Args>(arguments, kIndices)...);
}

template <typename... Args>
void call(void (*kernel)(Args...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<Args...>());
}

template <auto kernel>
double run(void** arguments, unsigned, unsigned) {
  call(kernel, arguments);
  return kLaunchNs;
}

/// The pattern has two bytes, so a whole zone equals itself two bytes on.
bool is_all_poison(const GuardZone& zone) {
  const auto* const bytes = reinterpret_cast<const u8*>(zone.begin);
  const u64 count = zone.end - zone.begin;
  return count > 2 && bytes[0] == poison_byte(zone.begin) &&
         bytes[1] == poison_byte(zone.begin + 1) && std::memcmp(bytes, bytes + 2, count - 2) == 0;
}

/// Blocks have nothing to do in a zone that is intact.
template <auto kernel>
double run_on_zones(void** arguments, unsigned grid, unsigned) {
  const auto* const zones = argument<const GuardZone*>(arguments, 0);
  for (unsigned first = 0; first < grid; first += kBlocksPerZone) {
    if (is_all_poison(zones[first / kBlocksPerZone])) continue;
    for (int i = 0; i < kBlocksPerZone; ++i) {
      blockIdx.x = first + i;
      call(kernel, arguments);
    }
  }
  blockIdx.x = 0;
  return kLaunchNs;
}

/// A larger buffer is only there to be read. Nothing looks at its values, and memory that is not
/// touched costs no time.
double fill(void** arguments, unsigned grid, unsigned block) {
  constexpr i64 kMostFilled = i64{4} << 20;
  return argument<i64>(arguments, 3) > kMostFilled ? kLaunchNs
                                                   : run<assay_fill>(arguments, grid, block);
}

double read(void** arguments, unsigned, unsigned) {
  return kLaunchNs + 16.0 * static_cast<double>(argument<i64>(arguments, 1)) / kBytesPerNs;
}

/// Work runs as soon as it is enqueued, so there is nothing to hold back, nor to compete with.
double nothing(void**, unsigned, unsigned) { return kLaunchNs; }

double stamp(void** arguments, unsigned, unsigned) {
  auto* stamp = argument<assay::Stamp*>(arguments, 0);
  *stamp = {static_cast<std::uint64_t>(Machine::get().now_ns()),
            static_cast<std::uint64_t>(Machine::get().cycles())};
  return kLaunchNs;
}

}  // namespace

Kernel find_kernel(const std::string& entry) {
#define HERE(name) \
  { "assay_" #name, run<assay_##name> }
  static const std::map<std::string, Kernel> kernels = {
      HERE(hash),
      HERE(vary),
      HERE(plant),
      HERE(veil),
      HERE(poison),
      HERE(compare),
      HERE(sum),
      HERE(sum_squares),
      HERE(sort_keys),
      HERE(sort_step),
      HERE(sort_values),
      HERE(gather),
      HERE(pointwise),
      HERE(square),
      HERE(rowwise),
      HERE(gather_rows),
      HERE(scatter_rows),
      {"assay_fill", fill},
      {"assay_poison_zones", run_on_zones<assay_poison_zones>},
      {"assay_guard_zones", run_on_zones<assay_guard_zones>},
      {"assay_read", read},
      {"assay_stamp", stamp},
  };
#undef HERE
  const auto found = kernels.find(entry);
  if (found != kernels.end()) return found->second;
  return entry.starts_with("assay_") ? nothing : find_tested_kernel(entry);
}

}  // namespace fake
