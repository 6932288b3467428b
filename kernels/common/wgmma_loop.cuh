#pragma once

// The main loop of a Hopper matrix product, in two halves that meet in a ring of slices. A slot
// holds the long operand's slice and after it the wide one's. The operands are whatever has
// kSliceBytes and copy_slice (tma_operand.cuh).

#include "common/ptx/cluster.cuh"
#include "common/ptx/named_barrier.cuh"
#include "common/ring.cuh"
#include "common/wgmma_tile.cuh"

/// The producer's half, by one thread: fills a slot with each of the slices, the last one first
/// when `backwards`.
template <int kStages, int kBlockK, typename LongOperand, typename WideOperand>
__device__ __forceinline__ void produce(const Ring<kStages>& ring, RingPlace<kStages>& place,
                                        unsigned slots, const LongOperand& long_operand,
                                        const WideOperand& wide_operand, int long_row, int wide_row,
                                        SliceRange slices, bool backwards) {
  constexpr int kBytes = LongOperand::kSliceBytes + WideOperand::kSliceBytes;
#pragma unroll 1
  for (int slice = 0; slice < slices.count; ++slice, place.advance()) {
    ring.wait_empty(place);
    const unsigned barrier = ring.full(place.slot);
    const unsigned slot = slots + place.slot * kBytes;
    const int column = slices.at(slice, backwards) * kBlockK;
    mbarrier_arrive_expect_bytes(barrier, kBytes);
    long_operand.copy_slice(slot, barrier, long_row, column);
    wide_operand.copy_slice(slot + LongOperand::kSliceBytes, barrier, wide_row, column);
  }
}

/// Lets go of a slot: one thread of the warpgroup arrives at the barrier of each block that copies
/// into it. `reader` is that thread's block, or -1 for all other threads.
template <int kLayer, int kStages>
__device__ __forceinline__ void release(const Ring<kStages>& ring, int slot, int reader) {
  if (reader < 0) return;
  if constexpr (kLayer > 1) {
    mbarrier_arrive_cluster(cluster_address(ring.empty(slot), static_cast<unsigned>(reader)));
  } else {
    mbarrier_arrive(ring.empty(slot));
  }
}

/// Warpgroups that work on the same tiles need no turns.
struct NoTurns {
  __device__ __forceinline__ void start() const {}
  __device__ __forceinline__ void take() const {}
  __device__ __forceinline__ void pass() const {}
};

/// Two warpgroups that take every other tile multiply in turn. Without this the one that waits
/// could be a whole round of the ring ahead, where parities repeat, and take an old slice for its
/// own.
struct Turns {
  int warpgroup;  // 0 or 1

  /// Once, before the first turn, which is warpgroup 0's.
  __device__ __forceinline__ void start() const {
    if (warpgroup == 1) named_barrier_arrive(1, 256);
  }
  __device__ __forceinline__ void take() const { named_barrier_sync(1 + warpgroup, 256); }
  __device__ __forceinline__ void pass() const { named_barrier_arrive(2 - warpgroup, 256); }
};

/// A warpgroup's half: multiplies `count` slices. `long_offset` is its rows' place in a slot, in
/// bytes. The tensor cores always have the next slice queued: a slot is let go of when the group
/// after it has been issued. The turn passes on when the last group has.
template <typename Element, int kPanels, int kLongRows, int kLayer, int kLongTiles, int kHalf,
          int kStages, typename Turn>
__device__ __forceinline__ void consume(float (&sums)[kLongTiles][kHalf], const Ring<kStages>& ring,
                                        RingPlace<kStages>& place, unsigned slots,
                                        unsigned long_offset, int count, int reader,
                                        const Turn& turn) {
  constexpr int kWide = kHalf * 2;
  constexpr int kLongBytes = kPanels * kLongRows * 128;
  constexpr int kSlotBytes = kPanels * (kLongRows + kWide) * 128;
  const unsigned long long long_rows = panel_descriptor(slots + long_offset);
  const unsigned long long wide_rows = panel_descriptor(slots + kLongBytes);
  // Cheaper than telling the first wgmma to start from zero: the compiler would keep the sums of
  // the tile before alive for it, and spill.
#pragma unroll
  for (int i = 0; i < kLongTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kHalf; ++j) sums[i][j] = 0;
  }
  turn.take();
  int previous = 0;
#pragma unroll 1
  for (int slice = 0; slice < count; ++slice) {
    ring.wait_full(place);
    wgmma_fence();
    const unsigned long long offset = static_cast<unsigned>(place.slot * (kSlotBytes / 16));
    multiply_slice<Element, kPanels, kLongRows, kLongTiles, kWide>(sums, long_rows + offset,
                                                                   wide_rows + offset);
    wgmma_commit();
    wgmma_wait<1>();
    if (slice > 0) release<kLayer>(ring, previous, reader);
    previous = place.slot;
    place.advance();
  }
  turn.pass();
  wgmma_wait<0>();
  pin(sums);
  if (count > 0) release<kLayer>(ring, previous, reader);
}
