#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace assay {

/// As large as a relative error can be.
inline constexpr double kNoLimit = 1e30;

/// How far an output may be from its fp32 reference. An element passes when
/// |out - ref| <= element_factor * |ref| + element_floor, and the output when also
/// ||out - ref||_F <= relative_limit * ||ref||_F.
struct Tolerance {
  double relative_limit = 0;
  double element_factor = 0;
  double element_floor = 0;
};

/// What the arithmetic of a good kernel may add to the error of an output, beside the rounding of
/// its type. It is of kernels that compute in fp32; those of f64 have as many more bits.
struct Arithmetic {
  double sums = 0;       // of the order of sums, in ratio to the rms of the output
  double functions = 0;  // of functions such as exp, in ratio to each element
  double rounding = 0;   // the roundoffs of the types that results in between were rounded to
  Arithmetic& operator+=(const Arithmetic& other);
  bool operator==(const Arithmetic&) const = default;
};

/// Of sums of so many products, which tensor cores may add. `factors` is the dtype of what is
/// multiplied.
Arithmetic sum_of_products(std::int64_t length, DType factors = DType::bf16);
/// Of plain sums of so many terms.
Arithmetic sum_of_terms(std::int64_t length);
/// Of functions that GPUs approximate.
Arithmetic of_functions();

/// `arithmetic` for an output of so many elements with the root mean square `rms`, sums whose terms
/// have `scale` as the root of the sum of their squares. It says how a sum's error compares with
/// the output, and many sums are about as large as `scale`. But one, or a few, may cancel by
/// chance and be far smaller, and their error does not become smaller with them.
Arithmetic with_cancellation(const Arithmetic& arithmetic, std::int64_t elements, double rms,
                             double scale);

/// The tolerance of an output of `dtype` that is made with `arithmetic` and whose reference has the
/// root mean square `rms`. `relative` replaces the limit of the norm, `element` multiplies the
/// bound of an element, `absolute` is added to it (a contract's `tolerance`). Integers must be
/// equal.
Tolerance derive_tolerance(DType dtype, const Arithmetic& arithmetic, double rms,
                           std::optional<double> relative = {}, std::optional<double> element = {},
                           std::optional<double> absolute = {});

/// How far what is made with `arithmetic` may be from the exact value, where `scale` is the root of
/// the sum of the squared terms.
double exactness_bound(const Arithmetic& arithmetic, double value, double scale);

}  // namespace assay
