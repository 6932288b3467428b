// The host's versions of support.cu and of the kernels that the tests run. They agree with
// the device's in what they promise, not in every bit: the inputs are other random numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "machine.h"
#include "support/support_kernels.h"

namespace fake {
namespace {

using assay::Comparison;
using assay::DType;
using assay::Generator;
using assay::kPoisonWord;

constexpr double kLaunchNs = 1000;
constexpr double kErrorCap = 1e30;  // support.cu's

// A larger buffer is only there to be read. Nothing looks at its values, and memory that is not
// touched costs no time.
constexpr std::int64_t kMostFilled = std::int64_t{4} << 20;

template <typename T>
T argument(void** arguments, int index) {
  T value;
  std::memcpy(&value, arguments[index], sizeof value);
  return value;
}

double load(DType dtype, const void* data, std::int64_t i) {
  switch (dtype) {
    case DType::bf16:
      return std::bit_cast<float>(std::uint32_t{static_cast<const std::uint16_t*>(data)[i]} << 16);
    case DType::f16:
      return static_cast<double>(static_cast<const _Float16*>(data)[i]);
    case DType::f32:
      return static_cast<const float*>(data)[i];
    case DType::f64:
      return static_cast<const double*>(data)[i];
    case DType::i32:
      return static_cast<const std::int32_t*>(data)[i];
    case DType::i64:
      return static_cast<double>(static_cast<const std::int64_t*>(data)[i]);
    case DType::u8:
      return static_cast<const std::uint8_t*>(data)[i];
    case DType::i8:
      return static_cast<const std::int8_t*>(data)[i];
    case DType::i16:
      return static_cast<const std::int16_t*>(data)[i];
    case DType::u16:
      return static_cast<const std::uint16_t*>(data)[i];
    case DType::u32:
      return static_cast<const std::uint32_t*>(data)[i];
    case DType::u64:
      return static_cast<double>(static_cast<const std::uint64_t*>(data)[i]);
  }
  return 0;
}

void store(DType dtype, void* data, std::int64_t i, double value) {
  switch (dtype) {
    case DType::bf16: {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
      static_cast<std::uint16_t*>(data)[i] =
          static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      return;
    }
    case DType::f16:
      static_cast<_Float16*>(data)[i] = static_cast<_Float16>(value);
      return;
    case DType::f32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    case DType::f64:
      static_cast<double*>(data)[i] = value;
      return;
    case DType::i32:
      static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(value);
      return;
    case DType::i64:
      static_cast<std::int64_t*>(data)[i] = static_cast<std::int64_t>(value);
      return;
    case DType::u64:
      static_cast<std::uint64_t*>(data)[i] = static_cast<std::uint64_t>(value);
      return;
    case DType::u32:
      static_cast<std::uint32_t*>(data)[i] =
          static_cast<std::uint32_t>(static_cast<std::int64_t>(value));
      return;
    case DType::i16:
    case DType::u16:
      static_cast<std::uint16_t*>(data)[i] =
          static_cast<std::uint16_t>(static_cast<std::int64_t>(value));
      return;
    case DType::i8:
    case DType::u8:
      static_cast<std::uint8_t*>(data)[i] =
          static_cast<std::uint8_t>(static_cast<std::int64_t>(value));
      return;
  }
}

std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::u8:
    case DType::i8:
      return 1;
    default:
      return 2;
  }
}

std::uint64_t load_bits(std::int64_t size, const void* data, std::int64_t i) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const std::uint8_t*>(data) + i * size,
              static_cast<std::size_t>(size));
  return bits;
}

bool is_poison(std::int64_t size, std::uint64_t bits) {
  const std::uint64_t poison = std::uint64_t{kPoisonWord} << 32 | kPoisonWord;
  return size > 1 && bits == poison >> (64 - 8 * size);
}

double fill(void** arguments, unsigned, unsigned) {
  const auto generator = argument<Generator>(arguments, 0);
  const auto dtype = argument<DType>(arguments, 1);
  void* out = argument<void*>(arguments, 2);
  const auto elements = argument<std::int64_t>(arguments, 3);
  const auto key = argument<std::uint64_t>(arguments, 4);
  const auto first = argument<double>(arguments, 5);
  const auto second = argument<double>(arguments, 6);
  if (elements > kMostFilled) return kLaunchNs;
  std::mt19937_64 random(key);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(first, std::max(first, second));
  const auto value_at = [&](std::int64_t i) -> double {
    switch (generator) {
      case Generator::normal:
        return first + second * normal(random);
      case Generator::uniform:
        return dtype >= DType::i32 ? std::floor(uniform(random)) : uniform(random);
      case Generator::zeros:
        return 0;
      case Generator::ones:
        return 1;
      case Generator::iota:
        return static_cast<double>(i);
      case Generator::permutation:
        return static_cast<double>(elements - 1 - i);
      case Generator::routing: {
        const auto experts = static_cast<std::int64_t>(first);
        const auto top = static_cast<std::int64_t>(second);
        return static_cast<double>((i / top + i % top) % experts);
      }
      case Generator::distinct:
        return static_cast<double>(i);
      case Generator::row_starts:
        return std::floor(first * static_cast<double>(i) / static_cast<double>(elements - 1));
    }
    return 0;
  };
  for (std::int64_t i = 0; i < elements; ++i) store(dtype, out, i, value_at(i));
  return kLaunchNs;
}

double hash(void** arguments, unsigned, unsigned) {
  const auto* data = argument<const std::uint8_t*>(arguments, 0);
  const auto bytes = argument<std::uint64_t>(arguments, 1);
  auto* sum = argument<std::uint64_t*>(arguments, 2);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, by words: tests spend most of their time here
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 32;  // a product has nothing of a word's high bits in its low ones
  };
  std::uint64_t i = 0;
  for (std::uint64_t word = 0; i + sizeof word <= bytes; i += sizeof word) {
    std::memcpy(&word, data + i, sizeof word);
    mix(word);
  }
  for (; i < bytes; ++i) mix(data[i]);
  *sum += hash;
  return kLaunchNs;
}

std::uint8_t poison_byte(std::uintptr_t address) {
  return static_cast<std::uint8_t>(address % 2 == 0 ? kPoisonWord & 0xff : kPoisonWord >> 8 & 0xff);
}

// support_kernels.cpp launches so many blocks for each zone.
constexpr unsigned kBlocksPerZone = 16;

/// The zone's memory. The pattern has two bytes, so a whole zone equals itself two bytes on.
bool is_all_poison(const std::uint8_t* zone, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(zone);
  return bytes > 2 && zone[0] == poison_byte(first) && zone[1] == poison_byte(first + 1) &&
         std::memcmp(zone, zone + 2, bytes - 2) == 0;
}

double poison_zones(void** arguments, unsigned grid, unsigned) {
  const auto* zones = argument<const assay::GuardZone*>(arguments, 0);
  for (unsigned number = 0; number < grid / kBlocksPerZone; ++number) {
    auto* const zone = reinterpret_cast<std::uint8_t*>(zones[number].begin);
    const std::size_t bytes = zones[number].end - zones[number].begin;
    if (is_all_poison(zone, bytes)) continue;
    for (std::size_t i = 0; i < bytes; ++i) zone[i] = poison_byte(zones[number].begin + i);
  }
  return kLaunchNs;
}

double guard_zones(void** arguments, unsigned grid, unsigned) {
  const auto* zones = argument<const assay::GuardZone*>(arguments, 0);
  auto* found = argument<std::uint64_t*>(arguments, 1);
  for (unsigned number = 0; number < grid / kBlocksPerZone; ++number) {
    const auto* const zone = reinterpret_cast<const std::uint8_t*>(zones[number].begin);
    const std::size_t bytes = zones[number].end - zones[number].begin;
    if (is_all_poison(zone, bytes)) continue;
    for (std::size_t i = 0; i < bytes; ++i) {
      if (zone[i] == poison_byte(zones[number].begin + i)) continue;
      found[number] = std::max(found[number], ~(number % 2 == 0 ? bytes - 1 - i : i));
    }
  }
  return kLaunchNs;
}

double compare(void** arguments, unsigned, unsigned) {
  const auto dtype = argument<DType>(arguments, 0);
  const void* out = argument<const void*>(arguments, 1);
  const auto reference_dtype = argument<DType>(arguments, 2);
  const void* reference = argument<const void*>(arguments, 3);
  const auto* terms = argument<const float*>(arguments, 4);
  const auto elements = argument<std::int64_t>(arguments, 5);
  const auto bounds = argument<assay::ElementBound>(arguments, 6);
  auto* result = argument<Comparison*>(arguments, 7);
  const bool integer = dtype >= DType::i32;
  const std::int64_t size = size_of(dtype);
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto not_index = ~static_cast<std::uint64_t>(i);
    ++result->compared;
    const std::uint64_t bits = load_bits(size, out, i);
    const bool equal = integer && bits == load_bits(size, reference, i);
    if (is_poison(size, bits) && !equal) {
      ++result->unwritten;
      result->not_first_unwritten = std::max(result->not_first_unwritten, not_index);
      continue;
    }
    const double expected = load(reference_dtype, reference, i);
    const double squares = terms != nullptr ? terms[i] : 0;
    const double bound = std::isinf(expected) ? 0 : bounds.at(expected, squares);
    const double found = load(dtype, out, i);
    if (std::isinf(found) && found == expected) continue;
    const double difference = found - expected;
    double error = std::fabs(difference);
    if (integer ? !equal : !(error <= bound)) {
      ++result->bad;
      result->not_first_bad = std::max(result->not_first_bad, not_index);
    }
    if (!(error <= kErrorCap)) error = kErrorCap;
    result->squared_error += error * error;
    result->squared_reference += expected * expected;
    if (const double terms_size = bounds.size_of(squares); terms_size > 0) {
      const double by = 1 / (terms_size * terms_size);
      result->scaled_error += by * error * error;
      result->scaled_reference += by * expected * expected;
      result->scaled_product += by * std::copysign(error, difference) * expected;
    }
    if (error > 0) {
      result->worst_ratio =
          std::max(result->worst_ratio, bound > 0 ? std::min(error / bound, kErrorCap) : kErrorCap);
    }
  }
  return kLaunchNs;
}

double sum_squares(void** arguments, unsigned, unsigned) {
  const auto dtype = argument<DType>(arguments, 0);
  const void* data = argument<const void*>(arguments, 1);
  const auto elements = argument<std::int64_t>(arguments, 2);
  auto* sum = argument<double*>(arguments, 3);
  for (std::int64_t i = 0; i < elements; ++i) {
    const double value = load(dtype, data, i);
    if (!std::isinf(value)) *sum += value * value;
  }
  return kLaunchNs;
}

double gather(void** arguments, unsigned, unsigned) {
  const auto dtype = argument<DType>(arguments, 0);
  const void* data = argument<const void*>(arguments, 1);
  const auto first = argument<std::int64_t>(arguments, 2);
  const auto step = argument<std::int64_t>(arguments, 3);
  const auto count = argument<std::int64_t>(arguments, 4);
  auto* out = argument<double*>(arguments, 5);
  for (std::int64_t j = 0; j < count; ++j) out[j] = load(dtype, data, first + j * step);
  return kLaunchNs;
}

double load(const assay::Strided& from, std::int64_t row, std::int64_t column) {
  if (from.data == 0) return 0;
  return load(from.dtype, reinterpret_cast<const void*>(from.data),
              from.first + row * from.row_step + column * from.column_step);
}

double pointwise(void** arguments, unsigned, unsigned) {
  const auto function = argument<assay::Pointwise>(arguments, 0);
  const auto a = argument<assay::Strided>(arguments, 1);
  const auto b = argument<assay::Strided>(arguments, 2);
  const auto dtype = argument<DType>(arguments, 3);
  void* out = argument<void*>(arguments, 4);
  const auto rows = argument<std::int64_t>(arguments, 5);
  const auto columns = argument<std::int64_t>(arguments, 6);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const double x = load(a, row, column), y = load(b, row, column);
      const double made = function == assay::Pointwise::add        ? x + y
                          : function == assay::Pointwise::multiply ? x * y
                                                                   : x;
      store(dtype, out, row * columns + column, made);
    }
  }
  return kLaunchNs;
}

double poison(void** arguments, unsigned, unsigned) {
  auto* words = argument<std::uint32_t*>(arguments, 0);
  std::fill_n(words, argument<std::int64_t>(arguments, 1), kPoisonWord);
  return kLaunchNs;
}

double read(void** arguments, unsigned, unsigned) {
  return kLaunchNs + 16.0 * static_cast<double>(argument<std::int64_t>(arguments, 1)) / kBytesPerNs;
}

double empty(void**, unsigned, unsigned) { return kLaunchNs; }

double stamp(void** arguments, unsigned, unsigned) {
  auto* stamp = argument<assay::Stamp*>(arguments, 0);
  *stamp = {static_cast<std::uint64_t>(Machine::get().now_ns()),
            static_cast<std::uint64_t>(Machine::get().cycles())};
  return kLaunchNs;
}

// Work runs as soon as it is enqueued, so there is nothing to hold back.
double hold(void**, unsigned, unsigned) { return kLaunchNs; }

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
void writes_ahead(float*, float* c, std::int32_t) { c[-1] = 0; }
/// Inside every tolerance.
void racy(float*, float* c, std::int32_t) {
  static bool second = false;
  second = !second;
  if (second) c[0] = std::nextafter(c[0], 1e9f);
}
void changes_input(float* a, float*, std::int32_t) { a[0] += 1; }

/// Gives again what it found for the same addresses.
double remembers_by_pointer(void** arguments, unsigned grid, unsigned block) {
  static std::map<const float*, std::vector<float>> found;
  auto* c = argument<float*>(arguments, 2);
  std::vector<float>& kept = found[argument<const float*>(arguments, 0)];
  if (!kept.empty()) {
    std::copy(kept.begin(), kept.end(), c);
    return kLaunchNs;
  }
  const double time_ns = vector_add(arguments, grid, block);
  kept.assign(c, c + argument<std::int32_t>(arguments, 3));
  return time_ns;
}

/// Takes what is not zero in its scratch memory for work done.
double trusts_a_flag(void** arguments, unsigned grid, unsigned block) {
  auto* flag = argument<float*>(arguments, 4);
  if (*flag != 0) return kLaunchNs;
  *flag = 1;
  return vector_add(arguments, grid, block);
}

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

Kernel find_kernel(const std::string& entry) {
  static const std::map<std::string, Kernel> kernels = {
      {"assay_fill", fill},
      {"assay_hash", hash},
      {"assay_poison_zones", poison_zones},
      {"assay_guard_zones", guard_zones},
      {"assay_compare", compare},
      {"assay_sum_squares", sum_squares},
      {"assay_gather", gather},
      {"assay_pointwise", pointwise},
      // No test on the stand-in runs these.
      {"assay_rowwise", empty},
      {"assay_gather_rows", empty},
      {"assay_scatter_rows", empty},
      {"assay_vary", empty},
      {"assay_sum", empty},
      {"assay_sort_keys", empty},
      {"assay_sort_step", empty},
      {"assay_sort_values", empty},
      {"assay_veil", empty},  // a kernel here never looks for the reference
      {"assay_poison", poison},
      {"assay_plant", empty},
      {"assay_fill_shared", empty},
      {"assay_occupy", empty},
      {"assay_read", read},
      {"assay_hold", hold},
      {"assay_stamp", stamp},
      {"assay_empty", empty},
      {"vector_add", vector_add},
      {"texture_add", texture_add},
      {"wrong_value", mistaken<wrong_value>},
      {"skips_last", mistaken<skips_last>},
      {"forgets_tail", mistaken<forgets_tail>},
      {"writes_outside", mistaken<writes_outside>},
      {"writes_ahead", mistaken<writes_ahead>},
      {"racy", mistaken<racy>},
      {"changes_input", mistaken<changes_input>},
      {"remembers_by_pointer", remembers_by_pointer},
      {"trusts_a_flag", trusts_a_flag},
      {"reuses_scratch", reuses_scratch},
      {"skips_over_numbers", skips_over_numbers},
      {"skips_every_second", skips_every_second},
  };
  const auto found = kernels.find(entry);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace fake
