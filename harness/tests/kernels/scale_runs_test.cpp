#include "common/fp8/scale_runs.cuh"

#include <gtest/gtest.h>

namespace {

template <int kBlockN>
void every_row_has_the_scale_of_its_block() {
  using Runs = ScaleRuns<kBlockN>;
  static_assert(kBlockN % Runs::kLength == 0);
  int most = 0;
  for (int first = 0; first < 16 * 128 * 3; first += kBlockN) {
    for (int run = 0; run < kBlockN; run += Runs::kLength) {
      const int block = Runs::block_of(first, run);
      most = larger(most, block);
      for (int row = run; row < run + Runs::kLength; ++row) {
        ASSERT_EQ(first / kScaleBlock + block, (first + row) / kScaleBlock)
            << "row " << row << " of the tile at " << first << ", of " << kBlockN;
      }
    }
  }
  EXPECT_EQ(most + 1, Runs::kBlocks) << kBlockN;
}

// A tile of 176 rows can have three scales: from row 112 of a block on it ends in the next but one.
TEST(ScaleRuns, GiveEveryRowOfATileTheScaleOfItsBlock) {
  [&]<int... kEighths>(std::integer_sequence<int, kEighths...>) {
    (every_row_has_the_scale_of_its_block<(kEighths + 1) * 8>(), ...);
  }
  (std::make_integer_sequence<int, 32>());
  static_assert(ScaleRuns<128>::kBlocks == 1 && ScaleRuns<192>::kBlocks == 2);
  static_assert(ScaleRuns<176>::kBlocks == 3 && ScaleRuns<256>::kBlocks == 2);
}

}  // namespace
