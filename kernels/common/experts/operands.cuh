#pragma once

// How slices of the experts' weights, and of the tokens that chose them, arrive in a stage
// (operand.cuh says how they lie there).

#include "common/experts/tiles.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/tma_3d.cuh"
#include "common/ptx/tma_streamed.cuh"
#include "common/wgmma/operand.cuh"

/// How tokens come to lie in the order of the experts.
///   ahead: a launch ahead copies them
///   boxes: the copy engine picks them, a box for each row, 30 ns each
enum class Gather { ahead, boxes };

/// Rows of B, those of the expert's matrix of a stack [experts, G::kProducts * n, k]: of its n
/// rows, or those of the gate's n and of as many others, both products of an output in one tile
/// (geometry.cuh, source_of). Rows of the tile count those of all products. Boxes have
/// G::kProductRun rows divided by the blocks that share them, and 64 columns. With kStreams they
/// leave L2 first: each weight is read once, and a token by all tiles of its expert, which drift
/// apart.
template <typename G, bool kStreams = false>
struct ExpertWeights {
  static constexpr int kSharers = sharers_of<G>(Side::n);
  static constexpr int kPartRows = G::kProductRun / kSharers;
  static constexpr int kSliceBytes = G::kPanels * G::kBlockN * 128;
  static_assert(!kStreams || kSharers == 1, "blocks that share rows read them together");

  const TensorMap* map;
  int n;

  __device__ __forceinline__ void prefetch() const { tma_prefetch_map(*map); }

  __device__ __forceinline__ void copy_slice(const CopyShare& share, unsigned shared,
                                             unsigned barrier, int expert, int first_row,
                                             int first_column) const {
    const int part = share.part * kPartRows;
#pragma unroll
    for (int panel = 0; panel < G::kPanels; ++panel) {
#pragma unroll 1  // fewer registers: the thread that copies may have 24
      for (int run = 0; run < G::kBlockN; run += G::kProductRun) {
        const auto source = G::source_of(run);
        const unsigned to = shared + (panel * G::kBlockN + run + part) * 128;
        const int row = source.product * n + first_row / G::kProducts + source.row + part;
        const int column = first_column + panel * 64;
        if constexpr (kSharers > 1) {
          tma_load_3d_multicast(to, *map, barrier, expert, row, column, share.blocks);
        } else if constexpr (kStreams) {
          tma_load_3d_streamed(to, *map, barrier, expert, row, column);
        } else {
          tma_load_3d(to, *map, barrier, expert, row, column);
        }
      }
    }
  }
};

/// Tokens as a launch ahead has copied them: one behind the other in the order of the experts. A
/// tile's last rows may be the next expert's. Boxes have the rows of the lowest tile divided by the
/// blocks that share them; what a tile has beyond comes in boxes of 8 rows, of which each block
/// copies every so many.
template <typename G>
struct CopiedTokens {
  static constexpr int kSharers = sharers_of<G>(Side::m);
  static constexpr int kPartRows = kLowest<G> / kSharers;
  static_assert(kPartRows % 8 == 0, "blocks share out a copy in pieces of 8 rows");

  const TensorMap* map;
  const TensorMap* step_map;  // with kHeights > 1
  int first = 0, height = G::kBlockM;

  __device__ __forceinline__ void prefetch() const {
    tma_prefetch_map(*map);
    if constexpr (G::kHeights > 1) tma_prefetch_map(*step_map);
  }
  /// Before the first slice is asked for.
  __device__ __forceinline__ void wait() const { grid_wait(); }
  /// A tile has `tile_height` rows from `first_row` on, of which those from `end` on do not count.
  __device__ __forceinline__ void begin(int first_row, int, int tile_height) {
    first = first_row;
    if constexpr (G::kHeights > 1) height = tile_height;
  }
  /// Of a slice, as the barrier counts them.
  __device__ __forceinline__ unsigned slice_bytes() const { return height * G::kPanels * 128; }
  __device__ __forceinline__ void copy_slice(const CopyShare& share, unsigned shared,
                                             unsigned barrier, int first_column) const {
#pragma unroll
    for (int panel = 0; panel < G::kPanels; ++panel) {
      const unsigned to = shared + panel * height * 128;
      const int column = first_column + panel * 64, part = share.part * kPartRows;
      copy_box<kSharers>(*map, to + part * 128, barrier, first + part, column, share.blocks);
      if constexpr (G::kHeights > 1) {
#pragma unroll 1
        for (int row = kLowest<G> + share.part * 8; row < height; row += kSharers * 8) {
          copy_box<kSharers>(*step_map, to + row * 128, barrier, first + row, column, share.blocks);
        }
      }
    }
  }
};

/// Tokens where they are: a box for each. Rows of a stage for which there is no token keep what was
/// there, which only reaches sums that nobody stores.
template <typename G>
struct PickedTokens {
  static_assert(sharers_of<G>(Side::m) == 1 && G::kHeights == 1, "each block picks its own");

  const TensorMap* map;  // boxes of 1 x 64
  const int* tokens;     // of each row in the order of the experts
  int picked[G::kBlockM] = {};
  int count = 0;

  __device__ __forceinline__ void prefetch() const { tma_prefetch_map(*map); }
  __device__ __forceinline__ void wait() const {}
  __device__ __forceinline__ void begin(int first_row, int end, int) {
    count = smaller(G::kBlockM, end - first_row);
#pragma unroll
    for (int row = 0; row < G::kBlockM; ++row) {
      if (row < count) picked[row] = tokens[first_row + row];
    }
  }
  __device__ __forceinline__ unsigned slice_bytes() const {
    return static_cast<unsigned>(larger(0, count)) * G::kPanels * 128;
  }
  __device__ __forceinline__ void copy_slice(const CopyShare&, unsigned shared, unsigned barrier,
                                             int first_column) const {
#pragma unroll
    for (int row = 0; row < G::kBlockM; ++row) {
      if (row >= count) break;
#pragma unroll
      for (int panel = 0; panel < G::kPanels; ++panel) {
        tma_load(shared + (panel * G::kBlockM + row) * 128, *map, barrier, picked[row],
                 first_column + panel * 64);
      }
    }
  }
};

template <typename G, Gather kGather>
__device__ __forceinline__ auto tokens_of(const TensorMap& copied, const TensorMap& copied_step,
                                          const TensorMap& map, const int* tokens) {
  if constexpr (kGather == Gather::ahead) {
    return CopiedTokens<G>{&copied, &copied_step};
  } else {
    return PickedTokens<G>{&map, tokens};
  }
}
