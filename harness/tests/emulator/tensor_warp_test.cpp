// Products are tested with those of an H200 (h200_products_test.cpp).
#include "emulator/tensor_product.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::emulator
