#pragma once

// Adds up what the warps of a block, and the blocks of a cluster, have of a tile's sums. Each block
// owns an equal share of the tile. A block first adds up what its own warps have, and then sends
// each owner its share, straight into the owner's shared memory. Everybody adds in the order of the
// warps or senders: the result does not depend on who was first.

#include "common/ptx/cluster.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/sparse/multiply.cuh"

template <typename Shape>
struct TileAdder {
  static constexpr bool kShared = Shape::kShared;

  unsigned char* ring;  // Shape::kFrontBytes; what other blocks send lies behind it
  unsigned barrier;     // 8 bytes of shared memory, used once
  int block;            // of the cluster

  /// At the start, so that nobody waits for it later.
  __device__ __forceinline__ void set_up() const {
    if constexpr (kShared) {
      if (threadIdx.x == 0) {
        mbarrier_init(barrier, 1);
        fence_mbarrier_init();
      }
      __syncthreads();
      if (threadIdx.x == 0) mbarrier_arrive_expect_bytes(barrier, Shape::kReceivedBytes);
      cluster_arrive_relaxed();
    }
  }

  static __device__ __forceinline__ int offset(int slot, int product, int in_share) {
    return ((slot * Shape::kProducts + product) * Shape::kShare + in_share) * 16;
  }
  __device__ __forceinline__ unsigned char* received() const {
    return kShared ? ring + Shape::kFrontBytes : ring;
  }
  /// Where a block keeps what its warps have.
  __device__ __forceinline__ Quad* of_warps(int part, int product) const {
    return reinterpret_cast<Quad*>(ring) + (part * Shape::kProducts + product) * Shape::kQuads;
  }

  /// Sends a quad of this block's sums to its owner.
  __device__ __forceinline__ void send_quad(int product, int quad, const float (&four)[4]) const {
    const auto owner = static_cast<unsigned>(quad / Shape::kShare);
    const unsigned to = shared_address(received() + offset(block, product, quad % Shape::kShare));
    cluster_send(cluster_address(to, owner), cluster_address(barrier, owner), four);
  }

  /// With `live` or not: see rehearse_and_do.
  __device__ __forceinline__ void send(const TileSums<Shape>& sums, const WarpShare<Shape>& warp,
                                       bool live) const {
    if (!live) return;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (Shape::kWarpsFirst) {
      __syncthreads();  // all have read the ring
    } else {
      cluster_wait();
    }
#pragma unroll
    for (int i = 0; i < Shape::kTilesM; ++i) {
#pragma unroll
      for (int j = 0; j < Shape::kTilesN; ++j) {
        const int quad = ((warp.tile * Shape::kTilesM + i) * Shape::kTilesN + j) * 32 + lane;
#pragma unroll
        for (int product = 0; product < Shape::kProducts; ++product) {
          const float(&four)[4] = sums[product][i][j];
          const Quad own = {four[0], four[1], four[2], four[3]};
          if constexpr (Shape::kWarpsFirst) {
            of_warps(warp.part, product)[quad] = own;
          } else {
            send_quad(product, quad, four);
          }
        }
      }
    }
    if constexpr (kShared && Shape::kWarpsFirst) {
      __syncthreads();
      cluster_wait();
#pragma unroll 1
      for (int at = static_cast<int>(threadIdx.x); at < Shape::kProducts * Shape::kQuads;
           at += Shape::kThreads) {
        const int product = at / Shape::kQuads, quad = at % Shape::kQuads;
        float total[4] = {};
#pragma unroll
        for (int part = 0; part < Shape::kWarpsK; ++part) {
          const Quad term = of_warps(part, product)[quad];
#pragma unroll
          for (int e = 0; e < 4; ++e) total[e] += term.lane[e];
        }
        send_quad(product, quad, total);
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
          Quad term = {};  // a rehearsal reads nothing: copies are on their way, or others' sums
          if (live) {
            term = *reinterpret_cast<const Quad*>(received() + offset(slot, product, at));
          }
#pragma unroll
          for (int e = 0; e < 4; ++e) sums[product].lane[e] += term.lane[e];
        }
      }
      store(place_of_quad<Shape>(block * Shape::kShare + at), sums);
    }
  }
};
