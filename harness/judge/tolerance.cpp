// Where the limits come from. u is the unit roundoff of the output's dtype, v = 2^-24 that of fp32,
// K the length of a sum, R an element of the reference. S is the size of its terms: the root of the
// sum of their squares. `build/tolerance_bench` prints how far honest kernels stay below the
// limits.
//
// A correct kernel differs from the reference by the rounding of its output and by the order of an
// fp32 sum. Rounding is at most u|R| per element; in the norm it is near 0.4 u, since errors are
// spread evenly over an interval.
//
// A sum that is made one by one rounds each of its partial sums P, by v|P| / sqrt(3) in the root
// mean square. Partial sums walk from 0 to R, so their squares add up to K (R^2 / 3 + S^2 / 6): the
// error is v sqrt(K) times 0.33 R and 0.24 S. Other orders make smaller partial sums. So the error
// of an element goes with the size of its own terms, however much of them cancels and however small
// the other rows of the output are. Where the terms have one sign, R is sqrt(K) times S.
//   The reference has an error of the same kind, which makes it sqrt(2) times as much. Ten thousand
// million elements are looked at: 6.5 deviations. And some walks stray farther than others: with
// both, one sum in 10^10 is off by 5.9 v sqrt(K) S. Hence 8 v sqrt(K) S + 4 v sqrt(K) |R|.
//   Products that are rounded before they are added are off by v S more, and 3xtf32 leaves out up
// to 2^-22 of each: the least is 2^-19 S.
//
// Tensor cores truncate instead of rounding, always towards zero, which adds up: some 2^-24.5 of
// the partial sum per step of 16 products, 5e-5 of S at K = 32768, 2.5e-4 for the worst of many
// elements. Hence terms linear in K: K * 2^-26 in the norm (4.9e-4 at K = 32768) and K * 2^-24 of S
// per element (2e-3), which is four times the worst of either.
//
// A wrong kernel is far from that. One slice of 16 missing from K = 32768 is 2.2e-2 in the norm; if
// only one tile misses it, its elements are off by 2.2e-2 S, against a bound of 2e-3 S + 2u|R|. One
// missing product in K = 4096 is 1.6e-2 S. Sums kept in bf16 round to 2^-9 of the partial sum at
// every step, which the elements near zero cannot hide: their bound has no 2u|R| to speak of.
//
// Products of f32 numbers can be made on tensor cores from tf32 parts, three for each product. One
// alone is off by 2.8e-4 in the norm, and two by 2.0e-4, whatever K is. Three that are truncated
// come to 1.2e-4 at K = 32768 and to 2.4e-4 at 65536, so the norm alone cannot tell. But what
// truncation takes off points along the result, by 0.87 of it, and what was left out does not. So
// the error has a second limit, of what is left when its component along the reference is taken
// off, with each element in ratio to its own S, so that all count alike: 2^-12.6, 1.65e-4, where
// sums of three come to 1.0e-4 and those of two to 2.5e-4 at K = 65536.
//
// Products of 8 bits are added with fewer bits: a Hopper GPU aligns 32 products and the sum so far
// with the largest of them and cuts each off 13 bits below its leading one. A cut is 2^-13 /
// sqrt(3) of the largest in the root mean square, and no addend of a block of L products is larger
// than the size S of the block's terms but by chance. The cuts of products have the products'
// signs, so L of them come to 2^-13 sqrt(L / 3) S. Those of L / 32 sums point to zero, by half of
// 2^-13 each: 2^-13 L / 64 S. Where a scale belongs to each block, sums leave the tensor cores
// after each, and the errors of blocks are as independent as the blocks: the limit does not grow
// with K. For L = 128 it is 1.0e-3 in the norm, and 4.2e-3 S for an element. Random numbers come
// to 1.3e-4 S, and to 1.6e-3 S for the worst of ten thousand sums; with a few large values among
// them to 2.4e-4 S. One sum over K = 7168 is off by 1.0e-2 S where it is nearly 0, and one of equal
// terms by a hundredth of itself. Scales that are rounded to bf16 come to 2.4e-3 S, and to 1.0e-2
// S.
//
// Above K = 32768 the limits grow with the root of K, as a random walk does, and end at 2^-5 in the
// norm. Nothing is known that is right and further off: a chain of tensor-core steps would be at
// K = 4,000,000, where each sum has lost a hundredth of itself. So zeros, which are off by 1 in the
// norm, are never within a derived limit, unless the sums themselves have cancelled.
//
// Plain sums take no tensor cores, so their limits have no terms linear in K. The norm of many
// errors is near its mean. That of a few is not, so the limit of one sum is three times as large.
//
// Many sums are about as large as S. One, or a few, may cancel by chance and be far smaller, and so
// may all where positive and negative parts are alike. Their error does not become smaller with
// them, so the norm of sums is in ratio to S where that is larger.
//
// Functions: the fast exp of a GPU is off by 2 + |x| units of 2^-23; 2^-18 covers |x| <= 28.
//
// A result that a chain of kernels rounds to bf16 may fall to the other side of a rounding when its
// last bit differs. That moves an element by 2u, and by no more than 1.13 times as much after any
// activation. A kernel that fuses the chain does not round at all. Hence u in the norm. What was
// rounded is no larger than R and what was added to it afterwards, which is among the terms, or
// four times S: 4u|R| + 8u S.
//
// Where nothing says how large the terms are, they count as the root mean square of the output. The
// rows of a product may be seven times as large, with the data that kernels are checked on; hence
// eight times the walk for what a reference kernel or file adds up.
#include "judge/tolerance.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kLongestChain = 32768;  // of products, up to which errors add up
const double kMostF32Chain = std::ldexp(1.0, -11);
const double kMostF32Across = std::ldexp(1.3, -13);
const double kLeastOfSums = std::ldexp(1.0, -21);
const double kMostOfNorm = std::ldexp(1.0, -5);

/// What sums add to the error of an element, in ratio to the size of its terms. The least is fp32's
/// error of a sum whose parts cancel.
double of_terms(const Arithmetic& arithmetic) {
  return std::max(std::ldexp(1.0, -19), 8 * arithmetic.walk + 4 * arithmetic.chain);
}

/// The same in ratio to the element, which is larger where the terms have one sign.
double of_value(const Arithmetic& arithmetic) { return 4 * arithmetic.walk + arithmetic.chain; }

/// Half the distance of subnormal numbers: below the normal range rounding errors stop shrinking.
double subnormal_rounding(DType dtype) {
  if (dtype == DType::f16) return std::ldexp(1.0, -25);
  if (dtype == DType::e4m3) return std::ldexp(1.0, -10);
  return dtype == DType::e5m2 ? std::ldexp(1.0, -17) : 0.0;
}

}  // namespace

Arithmetic& Arithmetic::operator+=(const Arithmetic& other) {
  walk += other.walk;
  chain += other.chain;
  across += other.across;
  functions += other.functions;
  rounding += other.rounding;
  return *this;
}

Arithmetic sum_of_products(std::int64_t length, DType factors) {
  const auto k = static_cast<double>(length);
  Arithmetic arithmetic = sum_of_terms(length);
  arithmetic.chain = std::ldexp(std::min(k, std::sqrt(k * kLongestChain)), -26);
  arithmetic.across = arithmetic.chain;
  if (factors == DType::f32) {
    arithmetic.chain = std::min(arithmetic.chain, kMostF32Chain);
    arithmetic.across = std::min(arithmetic.across, kMostF32Across);
  }
  return arithmetic;
}

Arithmetic sum_of_unknown_products(std::int64_t length) {
  Arithmetic arithmetic = sum_of_products(length);
  arithmetic.walk *= 8;  // see above
  return arithmetic;
}

Arithmetic sum_of_scaled_products(std::int64_t length, std::int64_t block) {
  const auto products = static_cast<double>(std::min(length, block));
  Arithmetic arithmetic = sum_of_terms(length);
  arithmetic.chain = std::ldexp(std::sqrt(products / 3) + products / 64, -13);
  arithmetic.across = arithmetic.chain;
  return arithmetic;
}

Arithmetic sum_of_terms(std::int64_t length) {
  return {.walk = std::ldexp(std::sqrt(static_cast<double>(length)), -24)};
}

Arithmetic of_functions() { return {.functions = std::ldexp(1.0, -18)}; }

Tolerance derive_tolerance(DType dtype, const Arithmetic& arithmetic, const Magnitude& reference,
                           std::optional<double> relative, std::optional<double> element,
                           std::optional<double> absolute) {
  if (!is_floating(dtype)) return {};
  const double u = unit_roundoff(dtype);
  const double scale = element.value_or(1.0);
  // Bits that f64 has and fp32 has not.
  const double finer =
      dtype == DType::f64 ? unit_roundoff(DType::f64) / unit_roundoff(DType::f32) : 1;
  const double functions = finer * arithmetic.functions;
  const double rms = reference.rms;
  const double terms = rms > 0 ? std::max(1.0, reference.terms / rms) : 1;
  // Of a few errors all may be large by chance.
  const double few = 1 + 2 / std::sqrt(static_cast<double>(reference.elements));
  const auto of_sums = [&](double chain) {
    return std::min(kMostOfNorm, finer * (kLeastOfSums + few * std::max(chain, arithmetic.walk)));
  };
  const auto norm = [&](double sums) {
    return std::min(kMostOfNorm, u + sums + functions + arithmetic.rounding);
  };
  const double chain = of_sums(arithmetic.chain);
  const double across = of_sums(arithmetic.across);
  Tolerance tolerance;
  tolerance.relative_limit = relative.value_or(norm(chain) + chain * (terms - 1));
  // What 16 bits round, or a contract accepts of any element, is in no ratio to small terms.
  const bool told = across < chain && u <= unit_roundoff(DType::f32) && !relative && !absolute;
  tolerance.across_limit = told ? norm(across) : kNoLimit;
  const double rounding = arithmetic.rounding;
  tolerance.element = {
      .of_value = scale * (2 * u + functions + finer * of_value(arithmetic) + 4 * rounding),
      .of_terms = scale * (finer * of_terms(arithmetic) + 8 * rounding),
      .size = reference.terms > 0 ? reference.terms : rms,
      .floor = scale * subnormal_rounding(dtype)};
  if (absolute) {
    tolerance.element.floor += *absolute;
    // An output whose every element is off by as much is off by so much in the norm.
    tolerance.relative_limit =
        std::min(kNoLimit, tolerance.relative_limit + (rms > 0 ? *absolute / rms : kNoLimit));
  }
  return tolerance;
}

double exactness_bound(const Arithmetic& arithmetic, double value, double scale) {
  return of_terms(arithmetic) * std::max(std::abs(value), scale);
}

}  // namespace assay
