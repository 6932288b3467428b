// The kernels that the tests run on the stand-in, good ones and bad ones.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>

#include "kernels.h"
#include "support/support_kernels.h"

namespace fake {
namespace {

using assay::kPoisonWord;

/// Half the speed of a plain read, and faster the larger its blocks: a sweep has one winner.
double vector_add_ns(std::int64_t elements, unsigned block) {
  return 2 * kLaunchNs + 12.0 * static_cast<double>(elements) / (kBytesPerNs / 2) + 2048 - block;
}

double vector_add(void** arguments, unsigned, unsigned block) {
  const auto* a = argument<const float*>(arguments, 0);
  const auto* b = argument<const float*>(arguments, 1);
  auto* c = argument<float*>(arguments, 2);
  const auto n = argument<std::int32_t>(arguments, 3);
  for (std::int32_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
  return vector_add_ns(n, block);
}

/// vector_add that reads A through a texture.
double texture_add(void** arguments, unsigned grid, unsigned block) {
  auto texture = argument<std::uint64_t>(arguments, 0);
  if ((texture & kTextureBit) == 0) return kLaunchNs;
  texture &= ~kTextureBit;
  void* passed[] = {&texture, arguments[1], arguments[2], arguments[3]};
  return vector_add(passed, grid, block);
}

/// vector_add that reads A by a descriptor of its 50 rows of 20, in boxes of 4 rows of 8.
double tensor_map_add(void** arguments, unsigned grid, unsigned block) {
  const auto map = argument<TensorMap>(arguments, 0);
  const TensorMap expected = {map.address,
                              2,
                              {20, 50},
                              80,
                              {8, 4},
                              CU_TENSOR_MAP_SWIZZLE_32B,
                              CU_TENSOR_MAP_DATA_TYPE_FLOAT32};
  if (std::memcmp(&map, &expected, sizeof map) != 0) return kLaunchNs;
  void* passed[] = {const_cast<std::uint64_t*>(&map.address), arguments[1], arguments[2],
                    arguments[3]};
  return vector_add(passed, grid, block);
}

/// vector_add, then one wrong thing.
template <void (*kMistake)(float* a, float* c, std::int32_t n)>
double mistaken(void** arguments, unsigned grid, unsigned block) {
  const double time_ns = vector_add(arguments, grid, block);
  kMistake(argument<float*>(arguments, 0), argument<float*>(arguments, 2),
           argument<std::int32_t>(arguments, 3));
  return time_ns;
}

void wrong_value(float*, float* c, std::int32_t n) { c[n / 2] += 1; }
void skips_last(float*, float* c, std::int32_t n) { std::memcpy(c + n - 1, &kPoisonWord, 4); }
/// As vectors of four would, without a loop for the rest.
void forgets_tail(float*, float* c, std::int32_t n) {
  if (n % 4 != 0) skips_last(nullptr, c, n);
}
void writes_outside(float*, float* c, std::int32_t n) { c[n] = 0; }
void changes_input(float* a, float*, std::int32_t) { a[0] += 1; }

/// Keeps its result in its scratch memory, behind a mark.
double reuses_scratch(void** arguments, unsigned grid, unsigned block) {
  constexpr float kMark = 12345.5;
  auto* c = argument<float*>(arguments, 2);
  const auto n = argument<std::int32_t>(arguments, 3);
  auto* kept = argument<float*>(arguments, 4);
  if (*kept == kMark) {
    std::copy_n(kept + 1, n, c);
    return kLaunchNs;
  }
  const double time_ns = vector_add(arguments, grid, block);
  *kept = kMark;
  std::copy_n(c, n, kept + 1);
  return time_ns;
}

/// vector_add where C does not look done.
double skips_over_numbers(void** arguments, unsigned grid, unsigned block) {
  if (std::isfinite(*argument<const float*>(arguments, 2))) return kLaunchNs;
  return vector_add(arguments, grid, block);
}

/// The same for every second launch alone, so that some launches over numbers are right.
double skips_every_second(void** arguments, unsigned grid, unsigned block) {
  static bool second = false;
  second = !second;
  return second ? vector_add(arguments, grid, block) : skips_over_numbers(arguments, grid, block);
}

}  // namespace

Kernel find_tested_kernel(const std::string& entry) {
  static const std::map<std::string, Kernel> kernels = {
      {"vector_add", vector_add},
      {"texture_add", texture_add},
      {"tensor_map_add", tensor_map_add},
      {"wrong_value", mistaken<wrong_value>},
      {"skips_last", mistaken<skips_last>},
      {"forgets_tail", mistaken<forgets_tail>},
      {"writes_outside", mistaken<writes_outside>},
      {"changes_input", mistaken<changes_input>},
      {"reuses_scratch", reuses_scratch},
      {"skips_over_numbers", skips_over_numbers},
      {"skips_every_second", skips_every_second},
  };
  const auto found = kernels.find(entry);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace fake
