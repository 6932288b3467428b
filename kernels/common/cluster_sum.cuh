#pragma once

// Adds up the sums of blocks of a cluster that have multiplied different parts of K for one tile.
// Every block owns an equal share of the groups of 8 columns. Each sends every owner its share,
// straight into the owner's shared memory, and each owner adds what it got in the order of the
// blocks, so the result does not depend on who was first.

#include "common/ptx/cluster.cuh"
#include "common/wgmma_epilogue.cuh"

/// kThreads = threads that hold sums.
template <int kLongTiles, int kHalf, int kBlocks, int kThreads>
struct ClusterSum {
  static constexpr int kGroups = kLongTiles * kHalf / 4;  // of a thread
  static constexpr int kShare = cdiv(kGroups, kBlocks);
  static constexpr int kBytes = kBlocks * kShare * kThreads * 16;

  unsigned shared;  // kBytes, free in all blocks once they have passed a cluster barrier
  int block;        // of the kBlocks
  int first_rank;   // rank of block 0, and from one to the next
  int rank_step;

  __device__ __forceinline__ unsigned slot(int from, int group) const {
    return shared + ((from * kShare + group) * kThreads + static_cast<int>(threadIdx.x)) * 16;
  }

  __device__ __forceinline__ void send(const float (&sums)[kLongTiles][kHalf]) const {
#pragma unroll
    for (int owner = 0; owner < kBlocks; ++owner) {
      const unsigned rank = static_cast<unsigned>(first_rank + owner * rank_step);
      const unsigned to = cluster_address(slot(block, 0), rank);
#pragma unroll
      for (int group = 0; group < kShare; ++group) {
        const int of_all = owner * kShare + group;
        if (of_all >= kGroups) break;
        const float* from = &sums[of_all / (kHalf / 4)][of_all % (kHalf / 4) * 4];
        const float four[4] = {from[0], from[1], from[2], from[3]};
        cluster_store(to + group * kThreads * 16, four);
      }
    }
  }

  /// After a cluster barrier: adds this block's share up and stores it.
  template <typename Store>
  __device__ __forceinline__ void store(const unsigned char* base, const Store& store,
                                        int first_long, int first_wide) const {
    const WarpRows rows;
#pragma unroll
    for (int group = 0; group < kShare; ++group) {
      const int of_all = block * kShare + group;
      if (of_all >= kGroups) break;
      float sum[4] = {};
#pragma unroll
      for (int from = 0; from < kBlocks; ++from) {
        const float* term = reinterpret_cast<const float*>(base + (slot(from, group) - shared));
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[e] += term[e];
      }
      store(sum, first_long + rows.first(of_all / (kHalf / 4)),
            first_wide + of_all % (kHalf / 4) * 8);
    }
  }
};
