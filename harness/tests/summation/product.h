#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "support/support_kernels.h"

namespace assay::test {

/// The sizes of a product out[m,n] = a[m,k] @ b[k,n].
struct ProductShape {
  int m = 0, n = 0;
  std::int64_t k = 0;
};

/// A product's factors and, in fp64, its elements and the squared sizes of their terms.
struct Product {
  ProductShape shape;
  DType dtype = DType::f32;  // of the factors
  std::vector<float> a, b;   // a is [m,k], b is [k,n]
  std::vector<double> exact, squared_terms;
};

/// What random numbers of `dtype` and `kind` make. f32 from bf16 and f16 is rounded to them.
Product draw_product(const ProductShape& shape, DType dtype, DataKind kind, std::uint64_t seed);

/// The kinds of data that kernels are checked on, and their names.
const std::vector<std::pair<DataKind, std::string>>& data_kinds();

/// To nearest even with so many bits of precision.
float rounded(float value, int bits);
/// To a type that products are stored in.
float rounded_to(DType dtype, float value);

/// What the judge finds. All are in ratio to what is allowed, and none may be above 1.
struct Margins {
  double element = 0;  // the worst element's error
  double norm = 0;     // the error of all
  double across = 0;   // the part of it that is not along the reference

  double worst() const;
};

/// Judges `found` as the output of type `out` whose reference is `reference`.
Margins judge(const Product& product, const std::vector<float>& reference, std::vector<float> found,
              DType out);

}  // namespace assay::test
