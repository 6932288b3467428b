#pragma once

// Sums of products as Hopper's tensor cores make them.

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
  bool saturate = false;  // .satfinite of s32
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
