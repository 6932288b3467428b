#include "emulator/tensor_product.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace assay::emulator {
namespace {

/// The exponent of a zero: it never decides how a sum is aligned.
constexpr std::int32_t kZeroExponent = -5000;

struct Term {
  float significand;  // +-[1, 2), or less of a subnormal
  std::int32_t exponent;
};

/// A finite number.
Term term_of(std::uint32_t bits, const FloatFields& fields) {
  const auto [exponent_bits, fraction_bits] = fields;
  const std::uint32_t size = bits & ((1u << (exponent_bits + fraction_bits)) - 1);
  const std::uint32_t exponent = size >> fraction_bits;
  const std::uint32_t fraction = (size & ((1u << fraction_bits) - 1)) << (23 - fraction_bits);
  const std::uint32_t sign = (bits >> (exponent_bits + fraction_bits) & 1) << 31;
  const std::int32_t bias = (1 << (exponent_bits - 1)) - 1;
  const float normal = std::bit_cast<float>(sign | 0x3F800000 | fraction);
  if (exponent != 0) return {normal, static_cast<std::int32_t>(exponent) - bias};
  return {normal - (sign != 0 ? -1.0f : 1.0f), fraction == 0 ? kZeroExponent : 1 - bias};
}

// Eight columns at once, by the vector extensions of g++ and clang.
constexpr int kLanes = 8;
using Floats = float __attribute__((vector_size(4 * kLanes)));
using Ints = std::int32_t __attribute__((vector_size(4 * kLanes)));
// Four of them.
using HalfFloats = float __attribute__((vector_size(2 * kLanes)));
using HalfInts = std::int32_t __attribute__((vector_size(2 * kLanes)));
using HalfLongs = std::int64_t __attribute__((vector_size(4 * kLanes)));
using HalfDoubles = double __attribute__((vector_size(4 * kLanes)));

template <typename Vector>
__attribute__((always_inline)) inline void read(const void* from, Vector& vector) {
  __builtin_memcpy(&vector, from, sizeof vector);
}

/// How the tensor cores add up.
struct Alignment {
  int fraction_bits;  // that are kept of the largest term's exponent, which has the value 1
  int products;       // that are aligned together with the sum
  int result_bits;    // of the fraction of the result
};

Alignment alignment_of(const ProductTypes& types) {
  if (bits_of(types.a) == 8 && !types.as_halves) return {13, 32, 13};
  return {25, types.a == PtxType::tf32 ? 8 : 16, 23};
}

/// What multiply_row works on: a row of A and eight columns of B and of the sums.
struct RowWork {
  const float* a_significand;
  const std::int32_t* a_exponent;
  const float* b_significand;  // of k = 0; the next k is `pitch` further on
  const std::int32_t* b_exponent;
  int pitch;
  int products;
  int fraction_bits;
  int result_bits;
};

/// sums += a * b: the exact products and the sum are aligned to the largest exponent among them,
/// cut off behind fraction_bits, and added. `exact` is what comes of it, `sums` the same cut off to
/// f32.
__attribute__((always_inline)) inline void add_products(const RowWork& work, float* sums,
                                                        double* exact) {
  Floats before;
  read(sums, before);
  const auto bits = (Ints)before;
  const Ints field = bits >> 23 & 255;
  const Ints signed_one = (bits & INT32_MIN) | 0x3F800000;
  const auto normal = (Floats)((bits & 0x007FFFFF) | signed_one);
  const Floats significand = field == 0 ? normal - (Floats)signed_one : normal;
  const Ints tiny = significand == 0.0f ? Ints{} + kZeroExponent : Ints{} - 126;
  const Ints sum_exponent = field == 0 ? tiny : field - 127;

  Ints largest = sum_exponent;
  for (int k = 0; k < work.products; ++k) {
    Ints exponent;
    read(work.b_exponent + k * work.pitch, exponent);
    exponent += work.a_exponent[k];
    largest = exponent > largest ? exponent : largest;
  }
  // Significands are scaled so that their last kept bit is 1, by a power of two whose exponent is
  // at least that of the float 0, and cut off to integers. Two sums, as sixteen products, below 4
  // each, fill the 32 bits of one.
  const Ints zero{};
  const Ints unit = 127 + work.fraction_bits - largest;
  Ints scale = unit + sum_exponent;
  scale = (scale > zero ? scale : zero) << 23;
  Ints total[2] = {__builtin_convertvector(significand * (Floats)scale, Ints), zero};
  for (int k = 0; k < work.products; k += 2) {
    for (int i = 0; i < 2; ++i) {
      Floats b;
      read(work.b_significand + (k + i) * work.pitch, b);
      read(work.b_exponent + (k + i) * work.pitch, scale);
      scale += unit + work.a_exponent[k + i];
      scale = (scale > zero ? scale : zero) << 23;
      total[i] += __builtin_convertvector(b * work.a_significand[k + i] * (Floats)scale, Ints);
    }
  }
  const Ints lowest = largest - work.fraction_bits + 1023;
  const Ints power = lowest > 1 ? lowest : zero + 1;
  for (int i = 0; i < kLanes; i += kLanes / 2) {
    HalfInts even, odd, powers;
    read((const std::int32_t*)&total[0] + i, even);
    read((const std::int32_t*)&total[1] + i, odd);
    read((const std::int32_t*)&power + i, powers);
    const HalfDoubles sum =
        (__builtin_convertvector(even, HalfDoubles) + __builtin_convertvector(odd, HalfDoubles)) *
        (HalfDoubles)(__builtin_convertvector(powers, HalfLongs) << 52);
    const HalfLongs kept = (HalfLongs)sum & -(std::int64_t{1} << (52 - work.result_bits));
    const HalfFloats result = __builtin_convertvector((HalfDoubles)kept, HalfFloats);
    __builtin_memcpy(exact + i, &sum, sizeof sum);
    __builtin_memcpy(sums + i, &result, sizeof result);
  }
  for (int i = 0; i < kLanes; ++i) {
    if (std::abs(sums[i]) < 0x1p-126f && exact[i] != 0) {
      sums[i] = static_cast<float>(std::trunc(exact[i] * 0x1p149) * 0x1p-149);
    }
  }
}

__attribute__((always_inline)) inline void multiply_row(const RowWork& whole, int k, float* sums,
                                                        double* exact) {
  RowWork work = whole;
  for (int first = 0; first < k; first += whole.products) {
    work.products = std::min(whole.products, k - first);
    add_products(work, sums, exact);
    work.a_significand += work.products;
    work.a_exponent += work.products;
    work.b_significand += work.products * work.pitch;
    work.b_exponent += work.products * work.pitch;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void multiply_row_avx2(const RowWork& work, int k, float* sums,
                                                       double* exact) {
  multiply_row(work, k, sums, exact);
}
#endif

auto row_multiplier() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return multiply_row_avx2;
#endif
  return multiply_row;
}

/// An element whose row or column has infinities or NaNs, whose significands are themselves.
float special_sum(const FactorMatrix& a, const FactorMatrix& b, int row, int column, float sum) {
  double result = sum;
  for (int k = 0; k < a.k; ++k) {
    result +=
        static_cast<double>(a.significand[row * a.k + k]) * b.significand[k * b.outer + column];
  }
  return static_cast<float>(result);
}

void multiply_integers(const ProductTypes& types, const FactorMatrix& a, const FactorMatrix& b,
                       std::uint32_t* sums) {
  for (int row = 0; row < a.outer; ++row) {
    for (int column = 0; column < b.outer; ++column) {
      std::uint32_t& sum = sums[row * b.outer + column];
      std::int64_t result = static_cast<std::int32_t>(sum);
      for (int k = 0; k < a.k; ++k) {
        result +=
            static_cast<std::int64_t>(a.exponent[row * a.k + k]) * b.exponent[k * b.outer + column];
      }
      if (types.saturate) result = std::clamp<std::int64_t>(result, INT32_MIN, INT32_MAX);
      sum = static_cast<std::uint32_t>(result);
    }
  }
}

}  // namespace

bool is_known(const ProductTypes& types) {
  const auto is_factor = [](PtxType type) {
    return type == PtxType::f16 || type == PtxType::bf16 || type == PtxType::tf32 ||
           type == PtxType::e4m3 || type == PtxType::e5m2 || type == PtxType::s8 ||
           type == PtxType::u8;
  };
  return is_factor(types.a) && is_factor(types.b) &&
         (types.sum == PtxType::f32 || types.sum == PtxType::f16 || types.sum == PtxType::s32);
}

FactorMatrix take_apart(PtxType factor, Side side, int outer, int k, const std::uint32_t* bits,
                        bool negated) {
  FactorMatrix operand{outer, k, {}, {}, {}};
  const auto size = static_cast<std::size_t>(outer) * k;
  operand.significand.resize(size);
  operand.exponent.resize(size);
  operand.special.resize(outer);
  const FloatFields fields = fields_of(factor);
  const std::uint32_t size_mask = (1u << (fields.exponent_bits + fields.fraction_bits)) - 1;
  // e4m3 has one NaN, all bits set, and numbers beside it.
  const bool has_infinity = factor != PtxType::e4m3;
  const std::uint32_t infinity = size_mask - (1u << fields.fraction_bits) + 1;
  const std::uint32_t first_special = has_infinity ? infinity : size_mask;
  const int unused = factor == PtxType::tf32 ? 13 : 0;
  for (int row = 0; row < outer; ++row) {
    for (int i = 0; i < k; ++i) {
      const std::uint32_t element = *bits++ >> unused;
      const auto at = static_cast<std::size_t>(side == Side::a ? row * k + i : i * outer + row);
      if (fields.exponent_bits == 0) {
        operand.exponent[at] = factor == PtxType::s8 ? static_cast<std::int8_t>(element)
                                                     : static_cast<std::uint8_t>(element);
        continue;
      }
      Term term = term_of(element, fields);
      if ((element & size_mask) >= first_special) {
        const bool infinite = has_infinity && (element & size_mask) == infinity;
        term = {infinite ? std::copysign(INFINITY, term.significand) : NAN, 0};
        operand.special[row] = 1;
      }
      operand.significand[at] = negated ? -term.significand : term.significand;
      operand.exponent[at] = term.exponent;
    }
  }
  return operand;
}

void multiply(const ProductTypes& types, const FactorMatrix& a, const FactorMatrix& b,
              std::uint32_t* sums) {
  if (types.sum == PtxType::s32) return multiply_integers(types, a, b, sums);
  const auto multiply_columns = row_multiplier();
  const Alignment alignment = alignment_of(types);
  const bool half = types.sum == PtxType::f16;
  for (int row = 0; row < a.outer; ++row) {
    const auto first = static_cast<std::size_t>(row) * a.k;
    for (int column = 0; column < b.outer; column += kLanes) {
      std::uint32_t* const words = sums + static_cast<std::size_t>(row) * b.outer + column;
      bool special = a.special[row] != 0;
      std::array<float, kLanes> before;
      for (int i = 0; i < kLanes; ++i) {
        before[i] = half ? static_cast<float>(decode(PtxType::f16, words[i]))
                         : std::bit_cast<float>(words[i]);
        special |= b.special[column + i] != 0 || !std::isfinite(before[i]);
      }
      std::array<float, kLanes> after = before;
      std::array<double, kLanes> exact;
      multiply_columns({a.significand.data() + first, a.exponent.data() + first,
                        b.significand.data() + column, b.exponent.data() + column, b.outer,
                        alignment.products, alignment.fraction_bits, alignment.result_bits},
                       a.k, after.data(), exact.data());
      if (!half && !special) {
        std::memcpy(words, after.data(), sizeof after);
        continue;
      }
      for (int i = 0; i < kLanes; ++i) {
        const bool own =
            a.special[row] != 0 || b.special[column + i] != 0 || !std::isfinite(before[i]);
        const double result = own    ? special_sum(a, b, row, column + i, before[i])
                              : half ? exact[i]
                                     : after[i];
        words[i] = static_cast<std::uint32_t>(encode(types.sum, result));
      }
    }
  }
}

}  // namespace assay::emulator
