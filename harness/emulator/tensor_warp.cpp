#include "emulator/tensor_warp.h"

#include <vector>

#include "emulator/float_formats.h"

namespace assay::emulator {

// A lane's place in a fragment: its group of four is a row, its number in the group a place in the
// row. Registers hold 4 bytes of neighbouring elements.

void load_matrices(std::span<const MatrixRow> rows, bool transposed,
                   std::span<WarpWords> matrices) {
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    const MatrixRow* const matrix = &rows[m * 8];
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::size_t row = lane / 4, column = lane % 4 * 2;
      const std::uint32_t low = transposed ? matrix[column][row] : matrix[row][column];
      const std::uint32_t high = transposed ? matrix[column + 1][row] : matrix[row][column + 1];
      matrices[m][lane] = high << 16 | low;
    }
  }
}

void store_matrices(std::span<const WarpWords> matrices, bool transposed,
                    std::span<MatrixRow> rows) {
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    MatrixRow* const matrix = &rows[m * 8];
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::size_t row = lane / 4, column = lane % 4 * 2;
      const auto low = static_cast<std::uint16_t>(matrices[m][lane]);
      const auto high = static_cast<std::uint16_t>(matrices[m][lane] >> 16);
      (transposed ? matrix[column][row] : matrix[row][column]) = low;
      (transposed ? matrix[column + 1][row] : matrix[row][column + 1]) = high;
    }
  }
}

WarpWords transpose_matrix(const WarpWords& matrix) {
  std::array<MatrixRow, 8> rows;
  store_matrices({&matrix, 1}, false, rows);
  WarpWords transposed;
  load_matrices(rows, true, {&transposed, 1});
  return transposed;
}

namespace {

std::uint32_t part_of(std::uint32_t word, int index, int bytes) {
  return bytes == 4 ? word : word >> (index * bytes * 8) & ((1u << (bytes * 8)) - 1);
}

/// mma.sync of e4m3 and e5m2, as an H200 does it: the factors become f16, the products of the first
/// two of each four along k are added up, then those of the others, and what comes of it to c.
void multiply_as_halves(const ProductTypes& types, int k, std::span<const std::uint32_t> a,
                        std::span<const std::uint32_t> b, std::span<std::uint32_t> sums) {
  const auto ordered = [k](std::span<const std::uint32_t> bits, int rows) {
    std::vector<std::uint32_t> result(bits.begin(), bits.begin() + rows * k);
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < k; ++i) {
        result[row * k + i % 4 / 2 * (k / 2) + i / 4 * 2 + i % 2] = bits[row * k + i];
      }
    }
    return result;
  };
  ProductTypes products = types;
  products.as_halves = true;
  products.sum = SumType::f32;
  std::array<std::uint32_t, 16 * 8> made{};
  multiply(products, take_apart(types.a, Side::a, 16, k, ordered(a, 16).data()),
           take_apart(types.b, Side::b, 8, k, ordered(b, 8).data()), made.data());
  const FloatFormat format = types.sum == SumType::f16 ? FloatFormat::f16 : FloatFormat::f32;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double sum = decode(format, sums[i]) + decode(FloatFormat::f32, made[i]);
    sums[i] = static_cast<std::uint32_t>(encode(format, static_cast<float>(sum)));
  }
}

}  // namespace

void a_elements(int element_bytes, std::span<const WarpWords> registers, std::uint32_t* elements) {
  // Registers alternate between rows 0 to 7 and 8 to 15, and go on along k in pairs.
  const int per_word = 4 / element_bytes;
  const int k = static_cast<int>(registers.size()) / 2 * 4 * per_word;
  for (int r = 0; r < static_cast<int>(registers.size()); ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane / 4 + r % 2 * 8;
      const int column = (r / 2 * 4 + lane % 4) * per_word;
      for (int i = 0; i < per_word; ++i) {
        elements[row * k + column + i] = part_of(registers[r][lane], i, element_bytes);
      }
    }
  }
}

void warp_multiply(const ProductTypes& types, int k, std::span<const WarpWords> a,
                   std::span<const WarpWords> b, std::span<const WarpWords> c,
                   std::span<WarpWords> d) {
  std::array<std::uint32_t, 16 * 32> a_bits, b_bits;
  std::array<std::uint32_t, 16 * 8> sums;
  const int bytes = factor_bytes(types.a);
  a_elements(bytes, a, a_bits.data());
  const int per_word = 4 / bytes;
  for (int r = 0; r < static_cast<int>(b.size()); ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < per_word; ++i) {
        b_bits[lane / 4 * k + (r * 4 + lane % 4) * per_word + i] = part_of(b[r][lane], i, bytes);
      }
    }
  }
  // Sums: registers of one element each, or (f16) of two.
  const bool half = types.sum == SumType::f16;
  const auto at = [half](int r, int lane, int i) {
    const int row = lane / 4 + (half ? r : r / 2) * 8;
    return row * 8 + lane % 4 * 2 + (half ? i : r % 2);
  };
  const int per_sum = half ? 2 : 1, sum_bytes = half ? 2 : 4;
  const int registers = static_cast<int>(d.size());
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < per_sum; ++i) {
        sums[at(r, lane, i)] = part_of(c[r][lane], i, sum_bytes);
      }
    }
  }
  if (bytes == 1 && types.sum != SumType::s32) {
    multiply_as_halves(types, k, a_bits, b_bits, sums);
  } else {
    multiply(types, take_apart(types.a, Side::a, 16, k, a_bits.data()),
             take_apart(types.b, Side::b, 8, k, b_bits.data()), sums.data());
  }
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      const std::uint32_t low = sums[at(r, lane, 0)];
      d[r][lane] = half ? sums[at(r, lane, 1)] << 16 | low : low;
    }
  }
}

}  // namespace assay::emulator
