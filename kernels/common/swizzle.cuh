#pragma once

// Where a 16-byte chunk of a matrix slice lies in shared memory. Rows are dense; inside each line
// of 128 bytes (all 32 banks) chunks are permuted by XOR with the line's number, so that the eight
// chunks that ldmatrix takes from one column of eight rows lie in eight different bank groups.
// Compiled by the host too: the tests prove it a bijection without conflicts.

#include "common/types.cuh"

/// Chunks in 128 bytes.
constexpr int kLineChunks = 8;

/// The column, in chunks, at which `chunk` of `row` is kept. kRowChunks = chunks in a row, a power
/// of two.
template <int kRowChunks>
ASSAY_HD constexpr int swizzled(int row, int chunk) {
  static_assert(kRowChunks > 0 && (kRowChunks & (kRowChunks - 1)) == 0,
                "XOR permutes rows of a power of two chunks");
  constexpr int kRowsPerLine = larger(1, kLineChunks / kRowChunks);
  constexpr int kPeriod = smaller(kLineChunks, kRowChunks);
  return chunk ^ (row / kRowsPerLine % kPeriod);
}
