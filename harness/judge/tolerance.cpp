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
// has no 2u|ref| to speak of. Where u is 2^-24, tf32 products (2.8e-4 in the norm) fail as well up
// to K = 16384.
#include "judge/tolerance.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

double element_floor_ratio(std::int64_t sum_length) {
  return std::max(std::ldexp(1.0, -19), static_cast<double>(sum_length) * std::ldexp(1.0, -24));
}

/// Half the distance of subnormal numbers: below the normal range rounding errors stop shrinking.
double subnormal_rounding(DType dtype) { return dtype == DType::f16 ? std::ldexp(1.0, -25) : 0.0; }

}  // namespace

Tolerance derive_tolerance(DType dtype, std::int64_t sum_length, double rms,
                           std::optional<double> relative, std::optional<double> element) {
  const double u = unit_roundoff(dtype);
  const double k = static_cast<double>(sum_length);
  const double scale = element.value_or(1.0);
  Tolerance tolerance;
  tolerance.relative_limit = relative.value_or(u + std::ldexp(1.0, -21) + k * std::ldexp(1.0, -26));
  tolerance.element_factor = scale * 2 * u;
  tolerance.element_floor =
      scale * (rms * element_floor_ratio(sum_length) + subnormal_rounding(dtype));
  return tolerance;
}

double accumulation_bound(std::int64_t sum_length, double value, double scale) {
  return element_floor_ratio(sum_length) * std::max(std::abs(value), scale);
}

}  // namespace assay
