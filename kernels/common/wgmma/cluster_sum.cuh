#pragma once

// Adds up the sums of blocks of a cluster that have multiplied different parts of K for one tile.
// Every block owns an equal share of the outputs, in groups of 8 columns. Each sends every other
// owner its sums for that share, straight into the owner's shared memory, and each owner adds what
// it got to its own in the order of the blocks, so the result does not depend on who was first.

#include "common/ptx/cluster.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/schedule.cuh"
#include "common/wgmma/stores.cuh"

template <typename G>
struct ClusterSum {
  static constexpr int kBlocks = G::kClusterK;
  static constexpr int kThreads = G::kConsumerThreads;                 // that hold sums
  static constexpr int kGroups = G::kOutputTiles * G::kOutputColumns;  // of a thread
  static constexpr int kShare = G::kShare;

  unsigned received;  // G::kReceivedBytes of shared memory that have no other use
  unsigned barrier;   // of one arrival, used once
  int block;          // of the kBlocks
  int first_rank;     // rank of block 0, and from one to the next
  int rank_step;

  using Share = SumGroup<G>[kShare];

  static __device__ __forceinline__ Group output_of(int group) {
    return {group / G::kOutputColumns, group % G::kOutputColumns};
  }

  /// Where a block keeps what the sender of slot `slot` sent, for this thread.
  static __device__ __forceinline__ int offset(int slot, int group, int product) {
    const int of_all = (slot * kShare + group) * G::kProducts + product;
    return (of_all * kThreads + static_cast<int>(threadIdx.x)) * 16;
  }

  /// Sends the others their shares and keeps its own. All blocks run, and have set their barriers
  /// up. Nobody waits for what is on its way.
  __device__ __forceinline__ void send(const Accumulators<G>& sums, Share& own) const {
    if (threadIdx.x == 0) mbarrier_arrive_expect_bytes(barrier, G::kReceivedBytes);
#pragma unroll
    for (int owner = 0; owner < kBlocks; ++owner) {
      const unsigned rank = static_cast<unsigned>(first_rank + owner * rank_step);
      const unsigned to = cluster_address(
          received + static_cast<unsigned>(offset(slot_of_sender(block, owner), 0, 0)), rank);
      const unsigned to_barrier = cluster_address(barrier, rank);
#pragma unroll
      for (int group = 0; group < kShare; ++group) {
        // All shares are equally long: the last may repeat a group.
        SumGroup<G> mine;
        take_group<G>(mine, sums, output_of(smaller(owner * kShare + group, kGroups - 1)));
#pragma unroll
        for (int product = 0; product < G::kProducts; ++product) {
          const unsigned at = offset(0, group, product) - offset(0, 0, 0);
          if (owner != block) cluster_send(to + at, to_barrier, mine[product]);
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            float& kept = own[group][product][e];
            kept = owner == 0 || owner == block ? mine[product][e] : kept;
          }
        }
      }
    }
  }

  /// Waits until all that the others send has come.
  __device__ __forceinline__ void wait() const {
    while (!mbarrier_try_wait(barrier, 0)) {
    }
  }

  /// Adds this block's share up: `store(group, output)` gets the sums of each of its groups. `base`
  /// is `received` as a pointer. No branches: loads and sums of all groups mix. Slots are in the
  /// order of their senders, and this block's own sums come before those of slot `block`; adding -0
  /// in all other places changes nothing.
  template <typename Store>
  __device__ __forceinline__ void add_up(const unsigned char* base, const Share& own,
                                         const Store& store) const {
#pragma unroll
    for (int group = 0; group < kShare; ++group) {
      const int of_all = block * kShare + group;
      if (kGroups % kBlocks != 0 && of_all >= kGroups) break;
      SumGroup<G> sums;
#pragma unroll
      for (int product = 0; product < G::kProducts; ++product) {
        float sum[4] = {-0.0f, -0.0f, -0.0f, -0.0f};
#pragma unroll
        for (int slot = 0; slot < kBlocks; ++slot) {
#pragma unroll
          for (int e = 0; e < 4; ++e) sum[e] += slot == block ? own[group][product][e] : -0.0f;
          if (slot == kBlocks - 1) continue;
          const float* sent = reinterpret_cast<const float*>(base + offset(slot, group, product));
#pragma unroll
          for (int e = 0; e < 4; ++e) sum[e] += sent[e];
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[product][e] = sum[e];
      }
      store(sums, output_of(of_all));
    }
  }
};
