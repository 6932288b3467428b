// The host's versions of support.cu. They agree with the device's in what they promise, not in
// every bit: the inputs are other random numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <type_traits>

#include "base/dtype.h"
#include "kernels.h"
#include "support/support_kernels.h"

namespace fake {
namespace {

using assay::Comparison;
using assay::DType;
using assay::Generator;
using assay::kPoisonWord;

constexpr double kErrorCap = 1e30;  // support.cu's

// A larger buffer is only there to be read. Nothing looks at its values, and memory that is not
// touched costs no time.
constexpr std::int64_t kMostFilled = std::int64_t{4} << 20;

class Bf16 {
 public:
  Bf16() = default;
  explicit Bf16(double value) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    bits_ = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  explicit operator double() const { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }

 private:
  std::uint16_t bits_ = 0;
};

/// Calls `function` with a value of the type.
template <typename Function>
auto with_type(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::bf16:
      return function(Bf16());
    case DType::f16:
      return function(_Float16());
    case DType::f32:
      return function(float());
    case DType::i32:
      return function(std::int32_t());
    case DType::i64:
      return function(std::int64_t());
    case DType::e4m3:  // no test on the stand-in looks into these
    case DType::e5m2:
    case DType::ue8m0:
    case DType::e2m1:
    case DType::u8:
      return function(std::uint8_t());
    case DType::i8:
      return function(std::int8_t());
    case DType::i16:
      return function(std::int16_t());
    case DType::u16:
      return function(std::uint16_t());
    case DType::u32:
      return function(std::uint32_t());
    case DType::u64:
      return function(std::uint64_t());
    case DType::f64:
      break;
  }
  return function(double());
}

double load(DType dtype, const void* data, std::int64_t i) {
  return with_type(dtype, [&](auto type) {
    return static_cast<double>(static_cast<const decltype(type)*>(data)[i]);
  });
}

void store(DType dtype, void* data, std::int64_t i, double value) {
  with_type(dtype, [&](auto type) {
    using Type = decltype(type);
    Type& element = static_cast<Type*>(data)[i];
    if constexpr (std::is_integral_v<Type> && !std::is_same_v<Type, std::uint64_t>) {
      element = static_cast<Type>(static_cast<std::int64_t>(value));
    } else {
      element = static_cast<Type>(value);
    }
  });
}

std::int64_t size_of(DType dtype) {
  return with_type(dtype, [](auto type) { return static_cast<std::int64_t>(sizeof type); });
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

double square(void** arguments, unsigned, unsigned) {
  const auto from = argument<DType>(arguments, 0);
  const void* data = argument<void*>(arguments, 1);
  const auto to = argument<DType>(arguments, 3);
  for (std::int64_t i = 0; i < argument<std::int64_t>(arguments, 2); ++i) {
    const double x = load(from, data, i);
    store(to, argument<void*>(arguments, 4), i, x * x);
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
      {"assay_square", square},
      // No test on the stand-in runs these.
      {"assay_rowwise", empty},
      {"assay_gather_rows", empty},
      {"assay_scatter_rows", empty},
      {"assay_vary", empty},
      {"assay_largest", empty},
      {"assay_quantise", empty},
      {"assay_scales", empty},
      {"assay_dequantise", empty},
      {"assay_sum", empty},
      {"assay_sort_keys", empty},
      {"assay_sort_step", empty},
      {"assay_sort_values", empty},
      {"assay_veil", empty},  // a kernel here never looks for the reference
      {"assay_poison", poison},
      {"assay_plant", empty},
      {"assay_fill_shared", empty},
      {"assay_occupy", empty},
      {"assay_narrow", empty},
      {"assay_read", read},
      {"assay_hold", hold},
      {"assay_stamp", stamp},
      {"assay_empty", empty},
  };
  const auto found = kernels.find(entry);
  return found == kernels.end() ? find_tested_kernel(entry) : found->second;
}

}  // namespace fake
