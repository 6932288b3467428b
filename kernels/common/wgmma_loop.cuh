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
/// own. For the same reason a turn ends only when the last of its slices has come.
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
/// bytes. The tensor cores take few wgmma ahead, so that what stands between two of them shows: a
/// slot is let go of, and the next one looked at, in the middle of a slice. The turn passes on when
/// the last slice is there, so that the other warpgroup's first follows without a gap.
///
/// `meanwhile` is called once, while the tensor cores have the first slice to multiply.
/// `finish(sums[i], i)` is called when the sums of the `i`th 64 rows are final. The last kTail
/// slices are multiplied for one 64 rows after the other, so that the tensor cores work on the
/// second while the first is stored.
template <typename Element, int kPanels, int kLongRows, int kLayer, int kTail, int kLongTiles,
          int kHalf, int kStages, typename Turn, typename Meanwhile, typename Finish>
__device__ __forceinline__ void consume(float (&sums)[kLongTiles][kHalf], const Ring<kStages>& ring,
                                        RingPlace<kStages>& place, unsigned slots,
                                        unsigned long_offset, int count, int reader,
                                        const Turn& turn, const Meanwhile& meanwhile,
                                        const Finish& finish) {
  constexpr int kLongBytes = kPanels * kLongRows * 128;
  constexpr int kSlotBytes = kPanels * (kLongRows + kHalf * 2) * 128;
  static_assert(kTail < kStages, "the last slices are all in the ring, and a slot is left to fill");
  const unsigned long_rows = panel_address(slots + long_offset);
  const unsigned wide_rows = panel_address(slots + kLongBytes);
  const auto offset_of = [](const RingPlace<kStages>& at) {
    return static_cast<unsigned>(at.slot * (kSlotBytes / 16));
  };
  // Cheaper than telling the first wgmma to start from zero: the compiler would keep the sums of
  // the tile before alive for it, and spill.
#pragma unroll
  for (int i = 0; i < kLongTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kHalf; ++j) sums[i][j] = 0;
  }
  constexpr int kSteps = kPanels * 4;
  turn.take();
  const int in_tail = smaller(count, kTail);
  int previous = -1;
  bool full = false;  // the slot at `place`, for all that is known
#pragma unroll 1
  for (int slice = 0; slice < count - in_tail; ++slice) {
    if (!full) ring.wait_full(place);
    if (slice + 1 == count) turn.pass();
    wgmma_fence();
    const unsigned long_slice = long_rows + offset_of(place);
    const unsigned wide_slice = wide_rows + offset_of(place);
    multiply_steps<Element, 0, kSteps / 2, kLongRows>(sums, long_slice, wide_slice);
    wgmma_commit();
    wgmma_wait<1>();
    if (previous >= 0) release<kLayer>(ring, previous, reader);
    previous = place.slot;
    place.advance();
    full = ring.is_full(place);
    multiply_steps<Element, kSteps / 2, kSteps, kLongRows>(sums, long_slice, wide_slice);
    wgmma_commit();
    if (slice == 0) meanwhile();
  }
  if (count == in_tail) meanwhile();
  if constexpr (kTail == 0) {
    if (count == 0) turn.pass();
    wgmma_wait<0>();
    if (previous >= 0) release<kLayer>(ring, previous, reader);
#pragma unroll
    for (int i = 0; i < kLongTiles; ++i) {
      pin(sums[i]);
      finish(sums[i], i);
    }
  } else {
    const RingPlace<kStages> tail = place;
#pragma unroll
    for (int i = 0; i < kLongTiles; ++i) {
      place = tail;
#pragma unroll 1
      for (int slice = 0; slice < in_tail; ++slice, place.advance()) {
        if (i == 0) ring.wait_full(place);
        wgmma_fence();
        const unsigned offset = offset_of(place);
        multiply_steps<Element, 0, kSteps, kLongRows>(reinterpret_cast<float(&)[1][kHalf]>(sums[i]),
                                                      long_rows + offset + i * 512,
                                                      wide_rows + offset);
      }
      wgmma_commit();
      wgmma_wait<1>();
      if (i == 0) {
        if (previous >= 0) release<kLayer>(ring, previous, reader);
      } else {
        pin(sums[i - 1]);
        finish(sums[i - 1], i - 1);
      }
    }
    wgmma_wait<0>();
    place = tail;
#pragma unroll 1
    for (int slice = 0; slice < in_tail; ++slice, place.advance()) {
      release<kLayer>(ring, place.slot, reader);
    }
    pin(sums[kLongTiles - 1]);
    finish(sums[kLongTiles - 1], kLongTiles - 1);
  }
}
