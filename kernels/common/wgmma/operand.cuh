#pragma once

// How slices of an operand arrive in a stage: kPanels panels, each 64 columns of all rows of the
// tile's side, 128 bytes a row, swizzled as wgmma reads them. Blocks of a cluster that need the
// same rows copy a part each, to all of them.
//
// Another way of bringing an operand needs what these have: kSliceBytes, prefetch, copy_slice.

#include "common/ptx/tma.cuh"
#include "common/ptx/tma_streamed.cuh"
#include "common/wgmma/geometry.cuh"

/// Copies rows of a panel: `row` of the matrix on, as many as the map's boxes have. With kStreams
/// each row is read by one tile, and leaves L2 first.
template <int kSharers, bool kStreams = false>
__device__ __forceinline__ void copy_box(const TensorMap& map, unsigned shared, unsigned barrier,
                                         int row, int column, unsigned short blocks) {
  static_assert(!kStreams || kSharers == 1, "blocks that share rows read them together");
  if constexpr (kSharers > 1) {
    tma_load_multicast(shared, map, barrier, row, column, blocks);
  } else if constexpr (kStreams) {
    tma_load_streamed(shared, map, barrier, row, column);
  } else {
    tma_load(shared, map, barrier, row, column);
  }
}

/// Rows of a matrix [rows, k], those of a tile in one piece. Boxes have the tile's rows divided by
/// the blocks that share them, and 64 columns. kStreams as for copy_box.
template <typename G, Side kSide, bool kStreams = false>
struct Boxes {
  static constexpr int kRows = kSide == Side::m ? G::kBlockM : G::kBlockN;
  static constexpr int kPartRows = kRows / sharers_of<G>(kSide);
  static constexpr int kSliceBytes = G::kPanels * kRows * 128;
  static_assert(kSide == Side::m || G::kProducts == 1, "one matrix has the rows of one product");

  const TensorMap* map;

  __device__ __forceinline__ void prefetch() const { tma_prefetch_map(*map); }

  /// By one thread. `first_row` is the tile's; the barrier counts kSliceBytes in each block that
  /// shares the rows.
  __device__ __forceinline__ void copy_slice(const CopyShare& share, unsigned shared,
                                             unsigned barrier, int first_row,
                                             int first_column) const {
#pragma unroll
    for (int panel = 0; panel < G::kPanels; ++panel) {
      copy_box<sharers_of<G>(kSide), kStreams>(
          *map, shared + panel * kRows * 128 + share.part * kPartRows * 128, barrier,
          first_row + share.part * kPartRows, first_column + panel * 64, share.blocks);
    }
  }
};
