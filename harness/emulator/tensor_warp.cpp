#include "emulator/tensor_warp.h"

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
  multiply(types, take_apart(types.a, Side::a, 16, k, a_bits.data()),
           take_apart(types.b, Side::b, 8, k, b_bits.data()), sums.data());
  for (int r = 0; r < registers; ++r) {
    for (int lane = 0; lane < 32; ++lane) {
      const std::uint32_t low = sums[at(r, lane, 0)];
      d[r][lane] = half ? sums[at(r, lane, 1)] << 16 | low : low;
    }
  }
}

}  // namespace assay::emulator
