#pragma once

// What normalises rows of A, found in the product's own launch. All tiles of a block lie in one
// panel of rows: its warpgroups multiply in turn, blocks stay, and walk along columns of tiles,
// which as many clusters share as makes them end in the row where they began. The second warpgroup
// finds the scales of the panel while the first multiplies its first tile. Blocks of a cluster that
// have the same panel find a part each, and send it to all of them.

#include "common/ptx/cluster.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/wgmma/row_launch.cuh"
#include "common/wgmma/tile_source.cuh"
#include "common/wgmma/zero_sum.cuh"

/// In shared memory.
template <typename G>
struct PanelScales {
  alignas(16) float of[G::kBlockM];
  unsigned long long barrier;  // of one phase: all of them are there

  /// By one thread, before it shows the ring's barriers to others.
  __device__ __forceinline__ void init() {
    mbarrier_init(shared_address(&barrier), 1);
    mbarrier_arrive_expect_bytes(shared_address(&barrier), sizeof(of));
  }
};

/// As Scaled (zero_sum.cuh). Found::of makes a row's scale of its Found::Sums. `m` is a multiple of
/// 4.
template <typename G, typename Found, typename Element, typename Activation>
struct ScaledInside : Scaled<Activation> {
  static_assert(G::kMode == Mode::pingpong && G::kSchedule == Schedule::column && !G::kStream &&
                    G::kSplitK == 1,
                "the tiles of a block lie in one panel");

  PanelScales<G>* panel;
  const Element* x;
  int k;

  __device__ __forceinline__ void wait() const {
    while (!mbarrier_try_wait(shared_address(&panel->barrier), 0)) {
    }
  }
  __device__ __forceinline__ float row(int at) const { return panel->of[at % G::kBlockM]; }

  /// By the second warpgroup, for the panel that begins at this row.
  __device__ __forceinline__ void find(const ClusterPlace& place, int first_row) const {
    constexpr int kRows = 4, kOwn = G::kBlockM / G::kClusterN;
    static_assert(kOwn % (4 * kRows) == 0, "a warp finds the scales of four rows at a time");
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int begin = place.n * kOwn, first = static_cast<int>(threadIdx.x) / 32 % 4 * kRows;
#pragma unroll 1
    for (int at = begin + first; at < begin + kOwn; at += 4 * kRows) {
      // Beyond the last row, some that are there: their scales are not used.
      const int row = smaller(first_row + at, this->m - kRows);
      typename Found::Sums sums[kRows];
      const int count = add_rows(sums, x + static_cast<long long>(row) * k, k, k);
      float scales[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) scales[i] = Found::of(sums[i], count, k);
      if (lane < G::kClusterN) {
        const auto rank = static_cast<unsigned>(place.m * G::kClusterN + lane);
        cluster_send(cluster_address(shared_address(panel->of + at), rank),
                     cluster_address(shared_address(&panel->barrier), rank), scales);
      }
    }
  }
};

/// DenseTiles of which a warpgroup that asks for its first corner, which it does before its turn,
/// finds the panel's scales if it is the second. A block has two tiles or more.
template <typename G, typename Transform>
struct PanelTiles : DenseTiles<G> {
  struct Problem : DenseTiles<G>::Problem {
    const Transform* transform;
  };

  const Transform* transform;

  __device__ __forceinline__ PanelTiles(const Problem& problem, const ClusterPlace& in_cluster,
                                        int cluster, int clusters)
      : DenseTiles<G>(problem, in_cluster, cluster, clusters), transform(problem.transform) {}

  __device__ __forceinline__ Corner corner(const Work& work) const {
    const Corner at = DenseTiles<G>::corner(work);
    if (threadIdx.x / 128 == 1 && work.unit == this->worker + this->workers) {
      transform->find(this->place, at.m);
    }
    return at;
  }
};
