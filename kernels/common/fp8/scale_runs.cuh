#pragma once

// Which scale of B the rows of a tile have. Compiled by the host too: the tests walk it.

#include "common/types.cuh"

constexpr int kScaleBlock = 128;  // rows of B, and columns, with one scale

/// Tiles have kBlockN rows of B, and begin at multiples of kBlockN. A run of kLength rows lies in
/// one block of rows, and a tile in up to kBlocks.
template <int kBlockN>
struct ScaleRuns {
  /// The largest power of two up to kScaleBlock that divides kBlockN.
  static constexpr int kLength = [] {
    int divisor = kScaleBlock;
    while (kBlockN % divisor != 0) divisor /= 2;
    return divisor;
  }();
  static constexpr int kBlocks = cdiv(kScaleBlock - kLength + kBlockN, kScaleBlock);

  /// Which of the blocks of a tile that begins at row `first_n` its row `row` lies in.
  static ASSAY_HD constexpr int block_of(int first_n, int row) {
    return (first_n % kScaleBlock + row) / kScaleBlock;
  }
};
