#pragma once

// Adds up the sums of blocks of a cluster that have multiplied different parts of K for one tile.
// Every block owns an equal share of the groups of 8 columns. Each sends every other owner its
// share, straight into the owner's shared memory, and each owner adds what it got to its own in the
// order of the blocks, so the result does not depend on who was first.

#include "common/ptx/cluster.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/schedule.cuh"
#include "common/wgmma_epilogue.cuh"

/// kThreads = threads that hold sums.
template <int kLongTiles, int kHalf, int kBlocks, int kThreads>
struct ClusterSum {
  static constexpr int kInRow = kHalf / 4;             // groups of a thread in one row
  static constexpr int kGroups = kLongTiles * kInRow;  // and in all, four sums each
  static constexpr int kShare = cdiv(kGroups, kBlocks);
  static constexpr int kBytes = (kBlocks - 1) * kShare * kThreads * 16;  // that a block receives

  unsigned received;  // kBytes of shared memory that have no other use
  unsigned barrier;   // of one arrival, used once
  int block;          // of the kBlocks
  int first_rank;     // rank of block 0, and from one to the next
  int rank_step;

  using Share = float[kShare][4];

  /// Where `owner` keeps what another block sent.
  static __device__ __forceinline__ int offset(int from, int owner, int group) {
    const int first = slot_of_sender(from, owner) * kShare;
    return ((first + group) * kThreads + static_cast<int>(threadIdx.x)) * 16;
  }

  /// Sends the others their shares and keeps its own. All blocks run, and have set their barriers
  /// up. Nobody waits for what is on its way.
  __device__ __forceinline__ void send(const float (&sums)[kLongTiles][kHalf], Share& own) const {
    if (threadIdx.x == 0) mbarrier_arrive_expect_bytes(barrier, kBytes);
#pragma unroll
    for (int owner = 0; owner < kBlocks; ++owner) {
      const unsigned rank = static_cast<unsigned>(first_rank + owner * rank_step);
      const unsigned to =
          cluster_address(received + static_cast<unsigned>(offset(block, owner, 0)), rank);
      const unsigned to_barrier = cluster_address(barrier, rank);
#pragma unroll
      for (int group = 0; group < kShare; ++group) {
        // All shares are equally long: the last may repeat a group.
        const int of_all = smaller(owner * kShare + group, kGroups - 1);
        const float* from = &sums[of_all / kInRow][of_all % kInRow * 4];
        const float four[4] = {from[0], from[1], from[2], from[3]};
        if (owner != block) cluster_send(to + group * kThreads * 16, to_barrier, four);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          own[group][e] = owner == 0 || owner == block ? four[e] : own[group][e];
        }
      }
    }
  }

  /// Waits until all that the others send has come.
  __device__ __forceinline__ void wait() const {
    while (!mbarrier_try_wait(barrier, 0)) {
    }
  }

  /// Adds this block's share up and stores it. `base` is `received` as a pointer.
  template <typename Store>
  __device__ __forceinline__ void store(const unsigned char* base, const Share& own,
                                        const Store& store, int first_long, int first_wide) const {
    const WarpRows rows;
#pragma unroll
    for (int group = 0; group < kShare; ++group) {
      const int of_all = block * kShare + group;
      if (of_all >= kGroups) break;
      float sum[4] = {};
#pragma unroll
      for (int from = 0; from < kBlocks; ++from) {
        float term[4] = {own[group][0], own[group][1], own[group][2], own[group][3]};
        if (from != block) {
          const float* sent = reinterpret_cast<const float*>(base + offset(from, block, group));
#pragma unroll
          for (int e = 0; e < 4; ++e) term[e] = sent[e];
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[e] += term[e];
      }
      store(sum, first_long + rows.first(of_all / kInRow), first_wide + of_all % kInRow * 8);
    }
  }
};
