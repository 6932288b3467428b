#pragma once

// Products of floats on tensor cores, which take tf32: floats of 10 bits behind the point, not 23.
// One such product is good to 2^-11. To be good to fp32, a number is split into a big part, itself
// rounded to tf32, and a small one, what that leaves; and x y is made of three products:
//   small(x) big(y) + big(x) small(y) + big(x) big(y),
// where what is left out, the product of both small parts, is 2^-22 of the whole. This is 3xtf32.
//
// A matrix in parts has the big ones of all its rows first, and after them the small ones of all.
// A sum over K of three products is one over three times K, whose slices come from different parts.
// The small ones come first: each step cuts the sum off behind fp32's last bit, and this costs
// nothing while it is small.
//
// Compiled by the host too: the tests check the index maps and the split.

#include "common/types.cuh"

/// The bits of a float rounded to tf32. The tensor cores cut off the last 13 bits, which makes all
/// numbers smaller and so adds up; these are rounded to nearest first, and nothing is cut off.
ASSAY_HD constexpr unsigned tf32_bits(unsigned float_bits) {
  return (float_bits + 0x1000u) & 0xffffe000u;
}

enum class Part { big, small };

/// Of kProducts products, 1 or 3, of slices of K.
template <int kProducts>
struct Products {
  static_assert(kProducts == 1 || kProducts == 3, "tf32 is multiplied once or three times");
  static constexpr int kParts = kProducts == 1 ? 1 : 2;  // of each operand

  int slices;  // of K

  ASSAY_HD constexpr int product(int slice) const { return slice / slices; }
  ASSAY_HD constexpr Part of_a(int slice) const {
    return kProducts == 3 && product(slice) == 0 ? Part::small : Part::big;
  }
  ASSAY_HD constexpr Part of_b(int slice) const {
    return kProducts == 3 && product(slice) == 1 ? Part::small : Part::big;
  }
  /// Which slice of K this is. Backwards, each product goes through K the other way: what was read
  /// last is still in L2.
  ASSAY_HD constexpr int of_k(int slice, bool backwards) const {
    const int at = slice % slices;
    return backwards ? slices - 1 - at : at;
  }
};

#ifdef __CUDACC__

/// `x` in kParts parts, `stride` elements apart.
template <int kParts>
__device__ __forceinline__ void store_parts(const Quad& x, float* to, long long stride) {
  Quad big, small;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    big.lane[i] = __uint_as_float(tf32_bits(__float_as_uint(x.lane[i])));
    small.lane[i] = __uint_as_float(tf32_bits(__float_as_uint(x.lane[i] - big.lane[i])));
  }
  *reinterpret_cast<Quad*>(to) = big;
  if constexpr (kParts == 2) *reinterpret_cast<Quad*>(to + stride) = small;
}

#endif
