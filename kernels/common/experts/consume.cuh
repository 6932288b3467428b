#pragma once

// The consumers of blocks that stay, when tokens are the wide side. wgmma has that side in steps of
// 8, so tiles may be as high as the experts' tokens ask for, and next to nothing is padded. Each
// height has a main loop and a way out of its own in the kernel.

#include "common/experts/store_tokens.cuh"
#include "common/experts/tiles.cuh"
#include "common/ptx/wgmma_odd.cuh"
#include "common/wgmma/block.cuh"

/// G with tiles of kRows rows, alone.
template <typename G, int kRows>
struct WithRows : G {
  static constexpr int kBlockM = kRows;
  static constexpr int kClusterM = 1, kClusterN = 1;
};

/// The same in G's stages and clusters.
template <typename G, int kRows>
struct LowTile : Geometry<WithRows<G, kRows>, G::kProducts> {
  static constexpr int kStageBytes = G::kStageBytes;
  static constexpr int kClusterM = G::kClusterM, kClusterN = G::kClusterN;
  static constexpr int kLayer = G::kLayer, kCluster = G::kCluster;
};

/// Calls `with(LowTile)`, of `height` rows.
template <typename G, int kRows = kLowest<G>, typename With>
__device__ __forceinline__ void with_height(int height, const With& with) {
  if constexpr (kRows < G::kBlockM) {
    if (height > kRows) {
      with_height<G, kRows + 8>(height, with);
      return;
    }
  }
  with(LowTile<G, kRows>{});
}

/// Whether these are a product's consumers; else consume_all (wgmma/block.cuh) has them.
template <typename G>
ASSAY_HD constexpr bool stores_tokens() {
  return G::kSwap && G::kPersistent && G::kClusterK == 1 && G::kSplitK == 1;
}

/// As consume_all. `staging` is 4096 bytes for each warpgroup.
template <typename G, typename Output>
__device__ __forceinline__ void consume_tokens(const ExpertTiles<G>& tiles,
                                               const ClusterPlace& block,
                                               const Ring<G::kStages>& ring, unsigned stages,
                                               unsigned char* staging, const Output& output) {
  static_assert(stores_tokens<G>(), "blocks stay, and make whole sums");
  const ConsumerPlace<G> consumer(block);
  RingPlace<G::kStages> place;
  const auto turns = consumer.turns();
  turns.start();
  bool mine = G::kMode != Mode::pingpong || consumer.warpgroup == 0;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const Work work = tiles.at(index);
    if (G::kMode == Mode::pingpong && !mine) {
      place.skip(work.slices.count);
      mine = true;
      continue;
    }
    const Corner corner = tiles.corner(work);
    const int end_m = tiles.end_m(work);
    // As for the warpgroup in consume_all: a warp agrees on it.
    const int height = __shfl_sync(~0u, tiles.height(work), 0);
    with_height<G>(height, [&](auto low) {
      using Low = decltype(low);
      using Store = StoreTokens<Low, Output>;
      const Store store = {output, end_m, staging + consumer.warpgroup * Store::kBytes,
                           3 + consumer.warpgroup};
      const int first_n = corner.n / G::kProducts + consumer.in_tile * G::kOutputTiles * 64;
      Accumulators<Low> sums;
      consume<Low>(
          sums, ring, place, stages, consumer.long_offset(), work.slices.count, consumer.release_to,
          turns, [] {},
          [&](int i) {
            if (i == 0) output.transform.wait();
            // With two products to an output, the other's sums come later.
            if (i % G::kLongProducts != G::kLongProducts - 1) return;
            store(sums, i / G::kLongProducts, corner.m, first_n + i / G::kLongProducts * 64);
          });
    });
    if constexpr (G::kMode == Mode::pingpong) mine = false;
  }
}
