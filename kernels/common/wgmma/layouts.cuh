#pragma once

// Operands of gemm_block (block.cuh) of which A or B is [K, rows] in memory and not [rows, K]. Such
// an operand lies in a stage in panels of 64 of its rows: a panel has a line of 128 bytes for each
// k of the slice, swizzled.

#include "common/ptx/wgmma_layouts.cuh"
#include "common/wgmma/block.cuh"

/// The geometry of a product that says of each operand whether it is [K, rows].
template <typename Config, bool kOfA, bool kOfB>
struct LaidOut : Geometry<Config> {
  static constexpr bool kKRowsLong = Config::kSwap ? kOfB : kOfA;
  static constexpr bool kKRowsWide = Config::kSwap ? kOfA : kOfB;
  static_assert(!Config::kOverlap, "the tail of `consume` knows one layout");
};

template <typename G>
concept HasLayouts = requires {
  G::kKRowsLong;
};

/// As the other StageRows.
template <HasLayouts G>
struct StageRows<G, Steps<G>> {
  /// From one panel to the next, in units of 16 bytes.
  static constexpr unsigned kPanelStride = G::kBlockK * 8;

  unsigned long_rows, wide_rows;

  /// In a cluster a block's own address has its rank in the bits from 24 on, where the stride
  /// counts.
  static __device__ __forceinline__ unsigned address(bool k_rows, unsigned shared) {
    return k_rows ? kPanelStride << 16 | (shared & ((1u << 18) - 1)) / 16 : panel_address(shared);
  }
  /// `long_offset` counts rows of 128 bytes.
  __device__ __forceinline__ StageRows(unsigned stages, unsigned long_offset)
      : long_rows(address(G::kKRowsLong, stages + long_offset * (G::kKRowsLong ? G::kPanels : 1))),
        wide_rows(address(G::kKRowsWide, stages + G::kPanels * G::kLong * 128)) {}

  template <int kFirst, int kEnd>
  __device__ __forceinline__ void multiply(Accumulators<G>& sums, unsigned offset) const {
#pragma unroll
    for (int step = kFirst; step < kEnd; ++step) {
      const unsigned wide =
          wide_rows + offset + (G::kKRowsWide ? step * 128 : Steps<G>::wide_offset(step));
#pragma unroll
      for (int i = 0; i < G::kLongTiles; ++i) {
        const unsigned at_long = G::kKRowsLong ? i * kPanelStride + step * 128
                                               : step / 4 * (G::kLong * 8) + i * 512 + step % 4 * 2;
        WgmmaLayouts<G::kWide, G::kKRowsLong, G::kKRowsWide>::multiply(
            typename G::Element{}, sums[i], panel_descriptor(long_rows + offset + at_long),
            panel_descriptor(wide));
      }
    }
  }
};

/// As Boxes, of a matrix [k, rows]. Boxes have kBlockK rows and 64 columns.
template <typename G, Side kSide>
struct KRowsBoxes {
  static constexpr int kRows = kSide == Side::m ? G::kBlockM : G::kBlockN;
  static constexpr int kSharers = sharers_of<G>(kSide);
  static constexpr int kPartPanels = kRows / 64 / kSharers;
  static constexpr int kSliceBytes = G::kPanels * kRows * 128;
  static_assert(kPartPanels * kSharers * 64 == kRows, "blocks share out whole panels");

  const TensorMap* map;

  __device__ __forceinline__ void prefetch() const { tma_prefetch_map(*map); }

  __device__ __forceinline__ void copy_slice(const CopyShare& share, unsigned shared,
                                             unsigned barrier, int first_row, int first_k) const {
#pragma unroll
    for (int i = 0; i < kPartPanels; ++i) {
      const int panel = share.part * kPartPanels + i;
      copy_box<kSharers>(*map, shared + panel * G::kBlockK * 128, barrier, first_k,
                         first_row + panel * 64, share.blocks);
    }
  }
};
