#pragma once

#include "common/wgmma/operand.cuh"

/// Rows of the two halves of one matrix [2 * rows, k], the gate's and the other's: both products of
/// an output are made in one tile, by one thread (geometry.cuh, source_of). Rows of the tile count
/// those of both. Boxes have G::kProductRun rows divided by the blocks that share them, and 64
/// columns. Beyond the first half they bring rows of the second, for outputs that do not exist.
/// kStreams as for copy_box.
template <typename G, bool kStreams = false>
struct HalvesBoxes {
  static constexpr int kSharers = sharers_of<G>(Side::n);
  static constexpr int kPartRows = G::kProductRun / kSharers;
  static constexpr int kSliceBytes = G::kPanels * G::kBlockN * 128;
  static_assert(G::kProducts == 2, "two halves have the rows of two products");

  const TensorMap* map;
  int rows;  // of a half

  __device__ __forceinline__ void prefetch() const { tma_prefetch_map(*map); }

  /// As Boxes.
  __device__ __forceinline__ void copy_slice(const CopyShare& share, unsigned shared,
                                             unsigned barrier, int first_row,
                                             int first_column) const {
#pragma unroll
    for (int panel = 0; panel < G::kPanels; ++panel) {
#pragma unroll
      for (int run = 0; run < G::kBlockN; run += G::kProductRun) {
        const auto source = G::source_of(run);
        const int part = share.part * kPartRows;
        const unsigned to = shared + panel * G::kBlockN * 128 + (run + part) * 128;
        copy_box<kSharers, kStreams>(*map, to, barrier,
                                     source.product * rows + first_row / 2 + source.row + part,
                                     first_column + panel * 64, share.blocks);
      }
    }
  }
};
