#include "emulator/tensor_product.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "emulator/float_formats.h"

namespace assay::emulator {
namespace {

Matrix8 numbered_rows() {
  Matrix8 rows;
  for (std::size_t i = 0; i < 64; ++i) rows[i / 8][i % 8] = static_cast<std::uint16_t>(i);
  return rows;
}

TEST(TensorWarp, GivesEachLaneTwoNeighboursOfARow) {
  const WarpWords plain = load_matrix(numbered_rows(), false);
  EXPECT_EQ(plain[0], 0x00010000u);
  EXPECT_EQ(plain[5], 8u + 2u + ((8u + 3u) << 16));  // row 1, columns 2 and 3
  EXPECT_EQ(plain[31], 62u + (63u << 16));
  const WarpWords transposed = load_matrix(numbered_rows(), true);
  EXPECT_EQ(transposed[5], 2u * 8 + 1u + ((3u * 8 + 1u) << 16));  // column 1, rows 2 and 3
}

TEST(TensorWarp, StoresWhatWasLoaded) {
  for (const bool transposed : {false, true}) {
    EXPECT_EQ(store_matrix(load_matrix(numbered_rows(), transposed), transposed), numbered_rows());
  }
}

struct MmaCase {
  ProductTypes types;
  int k;
  PtxType format;  // of the factors; f32 stands for integers
};

std::uint32_t encoded(const MmaCase& form, int value) {
  if (form.format == PtxType::f32) return static_cast<std::uint32_t>(value) & 0xFF;
  return static_cast<std::uint32_t>(encode(form.format, value));
}

class TensorWarpProducts : public testing::TestWithParam<MmaCase> {};

/// Fragments as the PTX manual lays them out: groupID = lane / 4, threadID_in_group = lane % 4.
TEST_P(TensorWarpProducts, MultipliesFragments) {
  const MmaCase& form = GetParam();
  const int k = form.k, bits = bytes_of(form.types.a) * 8, per_word = 32 / bits;
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
  const bool half = form.types.sum == PtxType::f16;
  std::vector<WarpWords> sums(half ? 2 : 4);
  const auto element = [&](int lane, int i) {
    return (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2;
  };
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int value = c[element(lane, i)];
      if (half) {
        const auto word = static_cast<std::uint32_t>(encode(PtxType::f16, value));
        sums[i / 2][lane] = i % 2 == 0 ? word : sums[i / 2][lane] | word << 16;
      } else {
        sums[i][lane] = form.types.sum == PtxType::s32
                            ? static_cast<std::uint32_t>(value)
                            : std::bit_cast<std::uint32_t>(static_cast<float>(value));
      }
    }
  }
  warp_multiply(form.types, k, a_words, b_words, sums);
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = element(lane, i) / 8, column = element(lane, i) % 8;
      int expected = c[row * 8 + column];
      for (int j = 0; j < k; ++j) expected += a[row * k + j] * b[column * k + j];
      double made = 0;
      if (half) {
        made = decode(PtxType::f16, sums[i / 2][lane] >> (i % 2 * 16) & 0xFFFF);
      } else if (form.types.sum == PtxType::s32) {
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
    testing::Values(MmaCase{{PtxType::bf16, PtxType::bf16, PtxType::f32}, 16, PtxType::bf16},
                    MmaCase{{PtxType::bf16, PtxType::bf16, PtxType::f32}, 8, PtxType::bf16},
                    MmaCase{{PtxType::f16, PtxType::f16, PtxType::f32}, 16, PtxType::f16},
                    MmaCase{{PtxType::f16, PtxType::f16, PtxType::f16}, 16, PtxType::f16},
                    MmaCase{{PtxType::tf32, PtxType::tf32, PtxType::f32}, 8, PtxType::tf32},
                    MmaCase{{PtxType::tf32, PtxType::tf32, PtxType::f32}, 4, PtxType::tf32},
                    MmaCase{{PtxType::e4m3, PtxType::e4m3, PtxType::f32}, 32, PtxType::e4m3},
                    MmaCase{{PtxType::e5m2, PtxType::e5m2, PtxType::f32}, 32, PtxType::e5m2},
                    MmaCase{{PtxType::s8, PtxType::s8, PtxType::s32}, 32, PtxType::f32},
                    MmaCase{{PtxType::s8, PtxType::s8, PtxType::s32}, 16, PtxType::f32}));

}  // namespace
}  // namespace assay::emulator
