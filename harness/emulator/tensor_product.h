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
#include <optional>
#include <string_view>
#include <vector>

namespace assay::emulator {

/// Elements that tensor cores multiply.
enum class Factor { f16, bf16, tf32, e4m3, e5m2, s8, u8 };
/// What tensor cores add up in.
enum class SumType { f32, f16, s32 };

struct ProductTypes {
  Factor a = Factor::bf16;
  Factor b = Factor::bf16;
  SumType sum = SumType::f32;
  bool saturate = false;   // .satfinite of s32
  bool as_halves = false;  // mma.sync of e4m3 and e5m2: multiplied as f16
};

/// "bf16" to Factor::bf16; nothing for a type that is not here.
std::optional<Factor> parse_factor(std::string_view text);
std::optional<SumType> parse_sum_type(std::string_view text);
int factor_bytes(Factor factor);

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
FactorMatrix take_apart(Factor factor, Side side, int outer, int k, const std::uint32_t* bits,
                        bool negated = false);

/// sums[rows][columns] += a * b, to the bit of an H200. Sums are the words of f32, f16 or s32.
void multiply(const ProductTypes& types, const FactorMatrix& a, const FactorMatrix& b,
              std::uint32_t* sums);

}  // namespace assay::emulator
