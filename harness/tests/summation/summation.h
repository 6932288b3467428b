#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "summation/product.h"

namespace assay::test {

/// How an accumulator takes the next products.
enum class Step {
  fused,      // multiply-adds in fp32
  unfused,    // rounds each product, then each sum
  kahan,      // carries what each sum has lost
  wide,       // in fp64
  tensor,     // several products at once, cut off behind fp32's last bit
  tensor_low  // the same, and each product is cut off two bits behind the largest's last bit
};

/// An order in which a kernel may add up K products. Each of `splits` parts of K goes to `lanes`
/// accumulators in turn, `width` products at a time. After `block` products an accumulator is added
/// to another one and begins at zero; 0: never. In the end all are added up, as a tree or in turn.
struct Order {
  Step step = Step::fused;
  int width = 1;
  std::int64_t block = 0;
  int lanes = 1;
  int splits = 1;
  bool backward = false;
  bool tree = false;

  std::string name() const;
};

/// 200 orders in which honest kernels add products of 16 bits, and sums in fp32 of those of f32.
std::vector<Order> honest_orders();
/// The order in which the library that makes references adds.
Order reference_order(DType factors);

/// What of the arithmetic is cheaper than it says.
enum class Shortcut {
  none,
  tf32x3,         // f32 made of the three largest products of tf32 parts, as it should be
  tf32x2,         // without the parts that are small in a
  tf32,           // of factors rounded to tf32
  tf32_cut,       // of factors whose last bits are cut off
  bf16_factors,   // rounded to bf16
  fp8_factors,    // rounded to e4m3's three bits
  f16_sums,       // kept in f16, 16 products at a time
  bf16_sums,      // the same in bf16
  skips_small,    // small factors of a, one in 25, count as zero
  skips_last,     // leaves the last product out
  skips_sixteen,  // leaves sixteen products out
};
std::string name_of(Shortcut shortcut);
/// Those that the judge must refuse where factors have this dtype.
std::vector<Shortcut> refused_shortcuts(DType factors);

/// The product as an honest kernel makes it. f32 factors meet on tensor cores as tf32 parts.
std::vector<float> multiply_honestly(const Product& product, const Order& order);
/// The product as a kernel makes it, before it is rounded to the output's type.
std::vector<float> multiply(const Product& product, const Order& order,
                            Shortcut shortcut = Shortcut::none);

}  // namespace assay::test
