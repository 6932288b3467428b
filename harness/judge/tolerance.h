#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "support/support_kernels.h"

namespace assay {

/// As large as a relative error can be.
inline constexpr double kNoLimit = 1e30;

/// How far an output may be from its fp32 reference. It passes when each element is within its
/// bound, ||out - ref||_F <= relative_limit * ||ref||_F, and what is left of the error when its
/// component along ref is taken off is within `across_limit` (see error_across; kNoLimit where it
/// tells nothing).
struct Tolerance {
  double relative_limit = 0;
  double across_limit = 0;
  ElementBound element;
};

/// What the arithmetic of a good kernel may add to the error of an output, beside the rounding of
/// its type. It is of kernels that compute in fp32; those of f64 have as many more bits.
struct Arithmetic {
  double walk = 0;       // of sums whose errors walk at random, in ratio to the size of the terms
  double chain = 0;      // of sums whose errors add up, likewise
  double across = 0;     // what of `chain` does not point along the result
  double functions = 0;  // of functions such as exp, in ratio to each element
  double rounding = 0;   // the roundoffs of the types that results in between were rounded to
  Arithmetic& operator+=(const Arithmetic& other);
  bool operator==(const Arithmetic&) const = default;
};

/// Of sums of so many products, which tensor cores may add. `factors` is the dtype of what is
/// multiplied.
Arithmetic sum_of_products(std::int64_t length, DType factors = DType::bf16);
/// Of sums of so many products, the size of whose terms will not be known.
Arithmetic sum_of_unknown_products(std::int64_t length);
/// Of sums of so many products of small floating numbers, with a scale for each `block` of them:
/// what tensor cores add of them leaves these to be scaled.
Arithmetic sum_of_scaled_products(std::int64_t length, std::int64_t block);
/// Of plain sums of so many terms.
Arithmetic sum_of_terms(std::int64_t length);
/// Of functions that GPUs approximate.
Arithmetic of_functions();

/// How large a reference is.
struct Magnitude {
  std::int64_t elements = 1;
  double rms = 0;
  double terms = 0;  // the root mean square of the sizes of its elements' terms; 0: not known
};

/// The tolerance of an output of `dtype` that is made with `arithmetic`. `relative` replaces the
/// limits of the norms, `element` multiplies the bound of an element, `absolute` is added to it (a
/// contract's `tolerance`). Integers must be equal.
Tolerance derive_tolerance(DType dtype, const Arithmetic& arithmetic, const Magnitude& reference,
                           std::optional<double> relative = {}, std::optional<double> element = {},
                           std::optional<double> absolute = {});

/// How far what is made with `arithmetic` may be from the exact value, where `scale` is the size of
/// the terms.
double exactness_bound(const Arithmetic& arithmetic, double value, double scale);

}  // namespace assay
