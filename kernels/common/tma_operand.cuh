#pragma once

// One operand of a tile as the copy engine brings it: kRows rows of a matrix [rows, K], a slice of
// kPanels panels at a time. A panel is 64 columns of 16 bits, 128 bytes a row, swizzled by the
// hardware. Blocks of a cluster that need the same rows copy a part each, to all of them.
//
// Another way of bringing an operand (rows picked by an index, say) needs what this one has:
// kSliceBytes, and copy_slice.

#include "common/ptx/tma.cuh"

/// kSharers = blocks that need the same rows, this one included.
template <int kRows, int kPanels, int kSharers>
struct TmaOperand {
  static constexpr int kPanelBytes = kRows * 128;
  static constexpr int kSliceBytes = kPanels * kPanelBytes;
  static constexpr int kPartRows = kRows / kSharers;

  const TensorMap* map;
  int part;               // which part of the rows this block copies
  unsigned short blocks;  // bits of the sharers' ranks

  /// By one thread. `first_row` is the tile's; the barrier counts kSliceBytes in each sharer.
  __device__ __forceinline__ void copy_slice(unsigned shared, unsigned barrier, int first_row,
                                             int first_column) const {
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      const unsigned to = shared + panel * kPanelBytes + part * kPartRows * 128;
      const int row = first_row + part * kPartRows;
      const int column = first_column + panel * 64;
      if constexpr (kSharers > 1) {
        tma_load_multicast(to, *map, barrier, row, column, blocks);
      } else {
        tma_load(to, *map, barrier, row, column);
      }
    }
  }
};
