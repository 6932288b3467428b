#pragma once

// Adds up what the warps of a block, and the blocks of a cluster, have of a tile's sums. Each block
// owns an equal share of the tile. Every warp sends each owner its part of that owner's share,
// straight into the owner's shared memory, and the owner adds in the order of the senders: the
// result does not depend on who was first.

#include "common/ptx/cluster.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/sparse/multiply.cuh"

template <typename Shape>
struct TileAdder {
  static constexpr bool kShared = Shape::kCluster > 1;

  unsigned char* received;  // Shape::kReceivedBytes that have no other use
  unsigned barrier;         // 8 bytes of shared memory, used once
  int block;                // of the cluster

  /// At the start, so that nobody waits for it later.
  __device__ __forceinline__ void set_up() const {
    if constexpr (kShared) {
      if (threadIdx.x == 0) {
        mbarrier_init(barrier, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect_bytes(barrier, Shape::kReceivedBytes);
      }
      __syncthreads();
      cluster_arrive_relaxed();
    }
  }

  static __device__ __forceinline__ int offset(int slot, int product, int in_share) {
    return ((slot * Shape::kProducts + product) * Shape::kShare + in_share) * 16;
  }

  /// With `live` or not: see rehearse_and_do.
  __device__ __forceinline__ void send(const TileSums<Shape>& sums, const WarpShare<Shape>& warp,
                                       bool live) const {
    if (!live) return;
    if constexpr (kShared) cluster_wait();
    const int slot = block * Shape::kWarpsK + warp.part;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < Shape::kTilesM; ++i) {
#pragma unroll
      for (int j = 0; j < Shape::kTilesN; ++j) {
        const int quad = ((warp.tile * Shape::kTilesM + i) * Shape::kTilesN + j) * 32 + lane;
        const int owner = quad / Shape::kShare;
#pragma unroll
        for (int product = 0; product < Shape::kProducts; ++product) {
          const float(&four)[4] = sums[product][i][j];
          unsigned char* to = received + offset(slot, product, quad % Shape::kShare);
          if constexpr (kShared) {
            const unsigned rank = static_cast<unsigned>(owner);
            cluster_send(cluster_address(shared_address(to), rank), cluster_address(barrier, rank),
                         four);
          } else {
            *reinterpret_cast<Quad*>(to) = {four[0], four[1], four[2], four[3]};
          }
        }
      }
    }
  }

  /// `store(place, sums)` gets each quad of this block's share, with its products' sums.
  template <typename Store>
  __device__ __forceinline__ void add_up(bool live, const Store& store) const {
    if constexpr (kShared) {
      while (live && !mbarrier_try_wait(barrier, 0)) {
      }
    } else {
      __syncthreads();
    }
#pragma unroll 1
    for (int at = static_cast<int>(threadIdx.x); at < Shape::kShare; at += Shape::kThreads) {
      Quad sums[Shape::kProducts] = {};
#pragma unroll 4
      for (int slot = 0; slot < Shape::kSlots; ++slot) {
#pragma unroll
        for (int product = 0; product < Shape::kProducts; ++product) {
          const Quad term = *reinterpret_cast<const Quad*>(received + offset(slot, product, at));
#pragma unroll
          for (int e = 0; e < 4; ++e) sums[product].lane[e] += term.lane[e];
        }
      }
      store(place_of_quad<Shape>(block * Shape::kShare + at), sums);
    }
  }
};
