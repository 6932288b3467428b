#include "summation/product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "judge/check.h"

namespace assay::test {
namespace {

/// Makes data of `kind` of random numbers; the same as support.cu's assay_vary and
/// assay_plant.
void vary(DataKind kind, std::vector<float>& values, std::int64_t columns,
          std::mt19937_64& random) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    float& value = values[i];
    switch (kind) {
      case DataKind::as_drawn:
        break;
      case DataKind::shifted:
        value += 0.25f;
        break;
      case DataKind::scaled_rows:
        if (at % columns == 0) bits = random();
        value = std::ldexp(value, -static_cast<int>(bits % 9));
        break;
      case DataKind::sparse:
        if (at % 32 == 0) bits = random();
        if (bits & 1) value = 0;
        break;
      case DataKind::constant:
        value = 0.25f;
        break;
      case DataKind::large:
        value *= 64;
        break;
      case DataKind::planted:
        if (at % columns != 0) break;
        for (std::uint64_t left = 1 + random() % 3; left > 0; --left) {
          bits = random();
          const std::uint64_t place = (bits >> 1) % static_cast<std::uint64_t>(columns);
          values[i + place] = std::sqrt(static_cast<float>(columns)) * (bits & 1 ? 1.0f : -1.0f);
        }
        break;
    }
  }
}

}  // namespace

/// To nearest even with so many bits of precision.
float rounded(float value, int bits) {
  const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
  const int unused = 24 - bits;
  if (unused <= 0) return value;
  const std::uint32_t last = word >> unused & 1;
  const std::uint32_t half = (1u << (unused - 1)) - 1;
  return std::bit_cast<float>((word + half + last) >> unused << unused);
}

float rounded_to(DType dtype, float value) {
  if (dtype == DType::bf16) return rounded(value, 8);
  if (dtype == DType::f16) return static_cast<float>(static_cast<_Float16>(value));
  return value;
}

const std::vector<std::pair<DataKind, std::string>>& data_kinds() {
  static const std::vector<std::pair<DataKind, std::string>> kinds = {
      {DataKind::as_drawn, "as drawn"},       {DataKind::shifted, "shifted"},
      {DataKind::scaled_rows, "scaled rows"}, {DataKind::sparse, "sparse"},
      {DataKind::constant, "constant"},       {DataKind::large, "large"},
      {DataKind::planted, "planted"}};
  return kinds;
}

Product draw_product(const ProductShape& shape, DType dtype, DataKind kind, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  Product product{shape, dtype, {}, {}, {}, {}};
  // b is drawn as the contract's kernels have it, with rows of k elements.
  std::vector<float> b(static_cast<std::size_t>(shape.n * shape.k));
  product.a.resize(static_cast<std::size_t>(shape.m * shape.k));
  for (std::vector<float>* values : {&product.a, &b}) {
    for (float& value : *values) value = rounded_to(dtype, normal(random));
    vary(kind, *values, shape.k, random);
    for (float& value : *values) value = rounded_to(dtype, value);
  }
  product.b.resize(b.size());
  for (int column = 0; column < shape.n; ++column) {
    for (std::int64_t i = 0; i < shape.k; ++i) {
      product.b[static_cast<std::size_t>(i * shape.n + column)] =
          b[static_cast<std::size_t>(column * shape.k + i)];
    }
  }
  const auto width = static_cast<std::size_t>(shape.n);
  for (int row = 0; row < shape.m; ++row) {
    std::vector<double> sums(width), squares(width);
    for (std::int64_t i = 0; i < shape.k; ++i) {
      const double x = product.a[static_cast<std::size_t>(row * shape.k + i)];
      const float* y = product.b.data() + i * shape.n;
      for (std::size_t j = 0; j < width; ++j) {
        const double term = x * y[j];
        sums[j] += term;
        squares[j] += term * term;
      }
    }
    product.exact.insert(product.exact.end(), sums.begin(), sums.end());
    product.squared_terms.insert(product.squared_terms.end(), squares.begin(), squares.end());
  }
  return product;
}

double Margins::worst() const { return std::max({element, norm, across}); }

Margins judge(const Product& product, const std::vector<float>& reference, std::vector<float> found,
              DType out) {
  const auto elements = static_cast<double>(reference.size());
  double squares = 0, terms = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    squares += static_cast<double>(reference[i]) * reference[i];
    terms += product.squared_terms[i];
  }
  const Magnitude magnitude{static_cast<std::int64_t>(reference.size()),
                            std::sqrt(squares / elements), std::sqrt(terms / elements)};
  const Tolerance tolerance =
      derive_tolerance(out, sum_of_products(product.shape.k, product.dtype), magnitude);
  Margins margins;
  Comparison all;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double expected = reference[i];
    const double error = static_cast<double>(rounded_to(out, found[i])) - expected;
    const double bound = tolerance.element.at(expected, product.squared_terms[i]);
    if (error != 0) margins.element = std::max(margins.element, std::abs(error) / bound);
    ++all.compared;
    all.squared_error += error * error;
    all.squared_reference += expected * expected;
    const double size = tolerance.element.size_of(product.squared_terms[i]);
    if (size == 0) continue;
    all.scaled_error += error * error / (size * size);
    all.scaled_reference += expected * expected / (size * size);
    all.scaled_product += error * expected / (size * size);
  }
  margins.norm = relative_error(all) / tolerance.relative_limit;
  margins.across = error_across(all) / tolerance.across_limit;
  return margins;
}

}  // namespace assay::test
