#pragma once

#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace assay {

/// How far an output may be from its fp32 reference. An element passes when
/// |out - ref| <= element_factor * |ref| + element_floor, and the output when also
/// ||out - ref||_F <= relative_limit * ||ref||_F.
struct Tolerance {
  double relative_limit = 0;
  double element_factor = 0;
  double element_floor = 0;
};

/// The tolerance of an output of `dtype` whose elements are sums of `sum_length` products and whose
/// reference has the root mean square `rms`. `relative` replaces the limit of the norm, `element`
/// multiplies the bound of an element (a contract's `tolerance`).
Tolerance derive_tolerance(DType dtype, std::int64_t sum_length, double rms,
                           std::optional<double> relative = {}, std::optional<double> element = {});

/// How far an fp32 sum of `sum_length` products may be from the exact value, where `scale` is the
/// root of the sum of the squared products.
double accumulation_bound(std::int64_t sum_length, double value, double scale);

}  // namespace assay
