// Where the limits come from. u is the unit roundoff of the output's dtype, K the length of the
// sum.
//
// A correct kernel differs from the reference by the rounding of its output and by the order of an
// fp32 sum. Rounding is at most u|ref| per element; in the norm it is near 0.4 u, since errors are
// spread evenly over an interval. An fp32 sum in any order is off by about 0.3 * 2^-24 * sqrt(K)
// times the rms of the sums. Tensor cores truncate instead of rounding, always towards zero, which
// adds up: some 2^-24.5 per step of 16 products, 5e-5 of the rms at K = 32768, 2.5e-4 for the worst
// of many elements. Hence terms linear in K: K * 2^-26 in the norm (4.9e-4 at K = 32768) and
// K * 2^-24 of the rms per element (2e-3), which is four times the worst of either, and never less
// than 2^-21 and 2^-19, which is what fp32 does to a sum whose parts cancel.
//
// A wrong kernel is far from that. One slice of 16 missing from K = 32768 is 2.2e-2 in the norm; if
// only one tile misses it, its elements are off by 2.2e-2 of the rms, against a bound of
// 2e-3 rms + 2u|ref|. One missing product in K = 4096 is 1.6e-2 of the rms. Sums kept in bf16 round
// to 2^-9 of the partial sum at every step, which the elements near zero cannot hide: their bound
// has no 2u|ref| to speak of.
//
// Products of f32 numbers can be made on tensor cores from tf32 parts, three for each product. One
// alone is off by 2.8e-4 in the norm, whatever K is. So from K = 16384 on their limit stays at
// 2^-12, 2.4e-4, where sums of three that are truncated come at K = 65536.
//
// Above K = 32768 the limits grow with the root of K, as a random walk does, and end at 2^-5 in the
// norm. Nothing is known that is right and further off: a chain of tensor-core steps would be at
// K = 4,000,000, where each sum has lost a hundredth of itself. So zeros, which are off by 1 in the
// norm, are never within a derived limit.
//
// Plain sums take no tensor cores. Their errors walk at random from the first term on: one by one
// in fp32, 0.3 * 2^-24 * sqrt(K) of the rms, whether or not the terms have a mean. The limit is
// three times that in the norm and four times as much for an element.
//
// Functions: the fast exp of a GPU is off by 2 + |x| units of 2^-23; 2^-18 covers |x| <= 28.
//
// A result that a chain of kernels rounds to bf16 may fall to the other side of a rounding when its
// last bit differs. That moves an element by 2u, and by no more than 1.13 times as much after any
// activation. A kernel that fuses the chain does not round at all. Hence u in the norm and, for
// elements of up to four times the rms, 8u of the rms.
#include "judge/tolerance.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kLongestChain = 32768;  // of products, up to which errors add up
const double kMostF32Sums = std::ldexp(1.0, -12);
const double kLeastOfSums = std::ldexp(1.0, -21);

/// fp32's least error of a sum whose parts cancel, for an element.
double element_ratio(const Arithmetic& arithmetic) {
  return std::max(std::ldexp(1.0, -19), 4 * arithmetic.sums);
}

/// Half the distance of subnormal numbers: below the normal range rounding errors stop shrinking.
double subnormal_rounding(DType dtype) { return dtype == DType::f16 ? std::ldexp(1.0, -25) : 0.0; }

}  // namespace

Arithmetic& Arithmetic::operator+=(const Arithmetic& other) {
  sums += other.sums;
  functions += other.functions;
  rounding += other.rounding;
  return *this;
}

Arithmetic sum_of_products(std::int64_t length, DType factors) {
  const auto k = static_cast<double>(length);
  const double sums = std::ldexp(std::min(k, std::sqrt(k * kLongestChain)), -26);
  return {factors == DType::f32 ? std::min(sums, kMostF32Sums) : sums, 0, 0};
}

Arithmetic sum_of_terms(std::int64_t length) {
  return {std::ldexp(std::sqrt(static_cast<double>(length)), -24), 0, 0};
}

Arithmetic of_functions() { return {0, std::ldexp(1.0, -18), 0}; }

Arithmetic with_cancellation(const Arithmetic& arithmetic, std::int64_t elements, double rms,
                             double scale) {
  constexpr std::int64_t kMany = 64;
  Arithmetic cancelled = arithmetic;
  if (elements < kMany && rms > 0 && scale > rms) {
    cancelled.sums = (arithmetic.sums + kLeastOfSums) * scale / rms;
  }
  return cancelled;
}

Tolerance derive_tolerance(DType dtype, const Arithmetic& arithmetic, double rms,
                           std::optional<double> relative, std::optional<double> element,
                           std::optional<double> absolute) {
  if (!is_floating(dtype)) return {};
  const double u = unit_roundoff(dtype);
  const double scale = element.value_or(1.0);
  // Bits that f64 has and fp32 has not.
  const double finer =
      dtype == DType::f64 ? unit_roundoff(DType::f64) / unit_roundoff(DType::f32) : 1;
  const double functions = finer * arithmetic.functions;
  Tolerance tolerance;
  tolerance.relative_limit =
      relative.value_or(std::min(std::ldexp(1.0, -5), u + finer * (kLeastOfSums + arithmetic.sums) +
                                                          functions + arithmetic.rounding));
  tolerance.element_factor = scale * (2 * u + functions);
  tolerance.element_floor =
      scale * (rms * (finer * element_ratio(arithmetic) + 8 * arithmetic.rounding) +
               subnormal_rounding(dtype));
  if (absolute) {
    tolerance.element_floor += *absolute;
    // An output whose every element is off by as much is off by so much in the norm.
    tolerance.relative_limit =
        std::min(kNoLimit, tolerance.relative_limit + (rms > 0 ? *absolute / rms : kNoLimit));
  }
  return tolerance;
}

double exactness_bound(const Arithmetic& arithmetic, double value, double scale) {
  return element_ratio(arithmetic) * std::max(std::abs(value), scale);
}

}  // namespace assay
