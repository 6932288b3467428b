#pragma once

// Sums of products, to the bit of an H200: the tests hold 40,000 of its sums for each kind.
//
// An instruction adds 16 products (tf32: 8; wgmma of e4m3 and e5m2: 32) and the sum before at once.
// Products are exact. All terms are aligned to the largest exponent among them and cut off, not
// rounded, behind 25 bits of fraction; their sum is exact, and is cut off to f32, or rounded to
// nearest f16. wgmma of 8-bit floats keeps 13 bits of fraction instead, in the terms as in the sum.
// The check of a kernel that adds up along K allows for an error that grows with K times 2^-24:
// more than the cut-off bits, whichever way a GPU adds. Sums of 8-bit floats over a long K are
// outside of it, here as on a GPU.

#include <cstdint>
#include <vector>

#include "emulator/float_formats.h"

namespace assay::emulator {

struct ProductTypes {
  PtxType a = PtxType::bf16, b = PtxType::bf16;  // or f16, tf32, e4m3, e5m2, s8, u8
  PtxType sum = PtxType::f32;                    // or f16, s32
  bool saturate = false;                         // .satfinite of s32
  bool as_halves = false;                        // mma.sync of e4m3 and e5m2: multiplied as f16
};

/// Whether there are products of such types.
bool is_known(const ProductTypes& types);

/// An operand ready to be multiplied: what each element is, taken apart once.
struct FactorMatrix {
  int outer = 0;  // rows of A, columns of B
  int k = 0;
  std::vector<float> significand;      // A: [outer][k], B: [k][outer]
  std::vector<std::int32_t> exponent;  // likewise; of integers 0
  std::vector<std::uint8_t> special;   // of each row or column: whether an element is not finite
};

enum class Side { a, b };

/// Takes an operand apart. `bits` is [outer][k], an element in the low bits of each word.
FactorMatrix take_apart(PtxType factor, Side side, int outer, int k, const std::uint32_t* bits,
                        bool negated = false);

/// sums[rows][columns] += a * b, to the bit of an H200. Sums are the words of f32, f16 or s32.
void multiply(const ProductTypes& types, const FactorMatrix& a, const FactorMatrix& b,
              std::uint32_t* sums);

}  // namespace assay::emulator
