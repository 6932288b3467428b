#pragma once

// How the rows of a matrix's last tile arrive where they do not fill the tile.

#include "common/ptx/mbarrier_complete.cuh"
#include "common/wgmma/operand.cuh"

/// As Boxes, but the last tile's rows come in boxes of just these: the copy engine takes 1 to 2 ns
/// for each row outside the matrix. Blocks that share rows copy whole boxes.
template <typename G, Side kSide, bool kStreams = false>
struct EdgeBoxes {
  using Whole = Boxes<G, kSide, kStreams>;
  static constexpr int kSliceBytes = Whole::kSliceBytes;

  Whole whole, edge;
  int rows;  // of the matrix

  __device__ __forceinline__ void prefetch() const {
    whole.prefetch();
    edge.prefetch();
  }
  __device__ __forceinline__ void copy_slice(const CopyShare& share, unsigned shared,
                                             unsigned barrier, int first_row,
                                             int first_column) const {
    const int missing = first_row + Whole::kRows - rows;
    const bool is_edge = sharers_of<G>(kSide) == 1 && missing > 0 && missing < Whole::kRows;
    const Whole boxes = {is_edge ? edge.map : whole.map};
    boxes.copy_slice(share, shared, barrier, first_row, first_column);
    // The barrier waits for a whole slice.
    if (is_edge) mbarrier_complete_bytes(barrier, G::kPanels * missing * 128);
  }
};
