#include "emulator/tensor_warp.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "emulator/float_formats.h"

namespace assay::emulator {
namespace {

std::vector<MatrixRow> numbered_rows(int matrices) {
  std::vector<MatrixRow> rows(static_cast<std::size_t>(matrices) * 8);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < 8; ++i) rows[row][i] = static_cast<std::uint16_t>(row * 8 + i);
  }
  return rows;
}

TEST(TensorWarp, GivesEachLaneTwoNeighboursOfARow) {
  const std::vector<MatrixRow> rows = numbered_rows(4);
  std::vector<WarpWords> matrices(4);
  load_matrices(rows, false, matrices);
  EXPECT_EQ(matrices[0][0], 0x00010000u);
  EXPECT_EQ(matrices[0][5], 8u + 2u + ((8u + 3u) << 16));  // row 1, columns 2 and 3
  EXPECT_EQ(matrices[3][31], 24u * 8 + 62u + ((24u * 8 + 63u) << 16));
  load_matrices(rows, true, matrices);
  EXPECT_EQ(matrices[0][5], 2u * 8 + 1u + ((3u * 8 + 1u) << 16));  // column 1, rows 2 and 3
}

TEST(TensorWarp, StoresWhatWasLoaded) {
  for (const bool transposed : {false, true}) {
    for (const int count : {1, 2, 4}) {
      const std::vector<MatrixRow> rows = numbered_rows(count);
      std::vector<WarpWords> matrices(count);
      load_matrices(rows, transposed, matrices);
      std::vector<MatrixRow> stored(rows.size());
      store_matrices(matrices, transposed, stored);
      EXPECT_EQ(stored, rows);
      if (!transposed) continue;
      std::vector<WarpWords> plain(count);
      load_matrices(rows, false, plain);
      for (int i = 0; i < count; ++i) EXPECT_EQ(transpose_matrix(plain[i]), matrices[i]);
    }
  }
}

struct MmaCase {
  ProductTypes types;
  int k;
  FloatFormat format;  // of the factors; f32 stands for integers
};

std::uint32_t encoded(const MmaCase& form, int value) {
  if (form.format == FloatFormat::f32) return static_cast<std::uint32_t>(value) & 0xFF;
  return static_cast<std::uint32_t>(encode(form.format, value));
}

class TensorWarpProducts : public testing::TestWithParam<MmaCase> {};

/// Fragments as the PTX manual lays them out: groupID = lane / 4, threadID_in_group = lane % 4.
TEST_P(TensorWarpProducts, MultipliesFragments) {
  const MmaCase& form = GetParam();
  const int k = form.k, bits = factor_bytes(form.types.a) * 8, per_word = 32 / bits;
  std::mt19937 random(k);
  std::vector<int> a(16 * k), b(8 * k), c(16 * 8);
  for (int& element : a) element = static_cast<int>(random() % 7) - 3;
  for (int& element : b) element = static_cast<int>(random() % 7) - 3;
  for (int& element : c) element = static_cast<int>(random() % 99) - 50;

  std::vector<WarpWords> a_words(k / per_word / 2), b_words(a_words.size() / 2);
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane / 4, thread = lane % 4;
    for (int i = 0; i < static_cast<int>(a_words.size()) * per_word; ++i) {
      const int row = i / per_word % 2 == 0 ? group : group + 8;
      const int column = thread * per_word + i % per_word + (i >= 2 * per_word ? 4 * per_word : 0);
      std::uint32_t& word = a_words[i / per_word][lane];
      if (i % per_word == 0) word = 0;
      word |= encoded(form, a[row * k + column]) << (i % per_word * bits % 32);
    }
    for (int i = 0; i < static_cast<int>(b_words.size()) * per_word; ++i) {
      const int row = thread * per_word + i % per_word + (i >= per_word ? 4 * per_word : 0);
      std::uint32_t& word = b_words[i / per_word][lane];
      if (i % per_word == 0) word = 0;
      word |= encoded(form, b[group * k + row]) << (i % per_word * bits % 32);
    }
  }
  const bool half = form.types.sum == SumType::f16;
  std::vector<WarpWords> sums(half ? 2 : 4);
  const auto element = [&](int lane, int i) {
    return (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2;
  };
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int value = c[element(lane, i)];
      if (half) {
        const auto word = static_cast<std::uint32_t>(encode(FloatFormat::f16, value));
        sums[i / 2][lane] = i % 2 == 0 ? word : sums[i / 2][lane] | word << 16;
      } else {
        sums[i][lane] = form.types.sum == SumType::s32
                            ? static_cast<std::uint32_t>(value)
                            : std::bit_cast<std::uint32_t>(static_cast<float>(value));
      }
    }
  }
  warp_multiply(form.types, k, a_words, b_words, sums, sums);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = element(lane, i) / 8, column = element(lane, i) % 8;
      int expected = c[row * 8 + column];
      for (int j = 0; j < k; ++j) expected += a[row * k + j] * b[column * k + j];
      double made = 0;
      if (half) {
        made = decode(FloatFormat::f16, sums[i / 2][lane] >> (i % 2 * 16) & 0xFFFF);
      } else if (form.types.sum == SumType::s32) {
        made = static_cast<std::int32_t>(sums[i][lane]);
      } else {
        made = std::bit_cast<float>(sums[i][lane]);
      }
      ASSERT_EQ(made, expected) << "row " << row << " column " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TensorWarpProducts,
    testing::Values(MmaCase{{Factor::bf16, Factor::bf16, SumType::f32}, 16, FloatFormat::bf16},
                    MmaCase{{Factor::bf16, Factor::bf16, SumType::f32}, 8, FloatFormat::bf16},
                    MmaCase{{Factor::f16, Factor::f16, SumType::f32}, 16, FloatFormat::f16},
                    MmaCase{{Factor::f16, Factor::f16, SumType::f16}, 16, FloatFormat::f16},
                    MmaCase{{Factor::tf32, Factor::tf32, SumType::f32}, 8, FloatFormat::tf32},
                    MmaCase{{Factor::tf32, Factor::tf32, SumType::f32}, 4, FloatFormat::tf32},
                    MmaCase{{Factor::e4m3, Factor::e4m3, SumType::f32}, 32, FloatFormat::e4m3},
                    MmaCase{{Factor::e5m2, Factor::e5m2, SumType::f32}, 32, FloatFormat::e5m2},
                    MmaCase{{Factor::s8, Factor::s8, SumType::s32}, 32, FloatFormat::f32},
                    MmaCase{{Factor::s8, Factor::s8, SumType::s32}, 16, FloatFormat::f32}));

}  // namespace
}  // namespace assay::emulator
