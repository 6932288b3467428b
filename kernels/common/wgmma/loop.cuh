#pragma once

// The main loop of a Hopper matrix product, in two halves that meet in a ring of stages. A stage
// holds the long operand's slice and after it the wide one's.

#include "common/ptx/cluster.cuh"
#include "common/ptx/named_barrier.cuh"
#include "common/wgmma/geometry.cuh"
#include "common/wgmma/ring.cuh"
#include "common/wgmma/slice.cuh"
#include "common/wgmma/tile_source.cuh"

/// An operand and this block's part in copying it.
template <typename Operand>
struct OperandShare {
  const Operand& operand;
  CopyShare share;
  static constexpr int kSliceBytes = Operand::kSliceBytes;

  __device__ __forceinline__ void copy_slice(unsigned shared, unsigned barrier, int first_row,
                                             int first_column) const {
    operand.copy_slice(share, shared, barrier, first_row, first_column);
  }
};

/// The producer's half, by one thread: fills a stage with each of the work's slices, the last one
/// first when `backwards`.
template <typename G, typename LongOperand, typename WideOperand>
__device__ __forceinline__ void produce(const Ring<G::kStages>& ring, RingPlace<G::kStages>& place,
                                        unsigned stages, const LongOperand& long_operand,
                                        const WideOperand& wide_operand, int long_row, int wide_row,
                                        const Work& work, bool backwards) {
  constexpr int kBytes = LongOperand::kSliceBytes + WideOperand::kSliceBytes;
  static_assert(kBytes == G::kStageBytes, "the operands fill a stage");
#pragma unroll 1
  for (int slice = 0; slice < work.slices.count; ++slice, place.advance()) {
    ring.wait_empty(place);
    const unsigned barrier = ring.full(place.stage);
    const unsigned stage = stages + place.stage * kBytes;
    const int at = G::kStaggered ? work.staggered(slice) : work.slices.at(slice, backwards);
    const int column = at * G::kBlockK;
    mbarrier_arrive_expect_bytes(barrier, kBytes);
    long_operand.copy_slice(stage, barrier, long_row, column);
    wide_operand.copy_slice(stage + LongOperand::kSliceBytes, barrier, wide_row, column);
  }
}

/// Lets go of a stage: one thread of the warpgroup arrives at the barrier of each block that copies
/// into it. `target` is that thread's block, or -1 for all other threads.
template <typename G>
__device__ __forceinline__ void release(const Ring<G::kStages>& ring, int stage, int target) {
  if (target < 0) return;
  if constexpr (G::kLayer > 1) {
    mbarrier_arrive_cluster(cluster_address(ring.empty(stage), static_cast<unsigned>(target)));
  } else {
    mbarrier_arrive(ring.empty(stage));
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

/// A warpgroup's half: multiplies `count` slices. `long_offset` is its rows' place in a stage, in
/// bytes. The tensor cores take few wgmma ahead, so that what stands between two of them shows: a
/// stage is let go of, and the next one looked at, in the middle of a slice. The turn passes on
/// when the last slice is there, so that the other warpgroup's first follows without a gap.
///
/// `meanwhile` is called once, while the tensor cores have the first slice to multiply.
/// `finish(i)` is called when the sums of the `i`th 64 rows are final. The last G::kTail slices are
/// multiplied for one 64 rows after the other, so that the tensor cores work on the second while
/// the first is stored.
template <typename G, typename Turn, typename Meanwhile, typename Finish>
__device__ __forceinline__ void consume(Accumulators<G>& sums, const Ring<G::kStages>& ring,
                                        RingPlace<G::kStages>& place, unsigned stages,
                                        unsigned long_offset, int count, int release_to,
                                        const Turn& turn, const Meanwhile& meanwhile,
                                        const Finish& finish) {
  using Element = typename G::Element;
  constexpr int kLongTiles = G::kLongTiles;
  constexpr int kHalf = G::kWide / 2;
  constexpr int kLongRows = G::kLong;
  constexpr int kLongBytes = G::kPanels * kLongRows * 128;
  static_assert(G::kTail < G::kStages,
                "the last slices are all in the ring, and a stage is left to fill");
  const unsigned long_rows = panel_address(stages + long_offset);
  const unsigned wide_rows = panel_address(stages + kLongBytes);
  const auto offset_of = [](const RingPlace<G::kStages>& at) {
    return static_cast<unsigned>(at.stage * (G::kStageBytes / 16));
  };
  // Cheaper than telling the first wgmma to start from zero: the compiler would keep the sums of
  // the tile before alive for it, and spill.
#pragma unroll
  for (int i = 0; i < kLongTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kHalf; ++j) sums[i][j] = 0;
  }
  constexpr int kSteps = G::kPanels * 4;
  turn.take();
  const int in_tail = smaller(count, G::kTail);
  int previous = -1;
  bool full = false;  // the stage at `place`, for all that is known
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
    if (previous >= 0) release<G>(ring, previous, release_to);
    previous = place.stage;
    place.advance();
    full = ring.is_full(place);
    multiply_steps<Element, kSteps / 2, kSteps, kLongRows>(sums, long_slice, wide_slice);
    wgmma_commit();
    if (slice == 0) meanwhile();
  }
  if (count == in_tail) meanwhile();
  if constexpr (G::kTail == 0) {
    if (count == 0) turn.pass();
    wgmma_wait<0>();
    if (previous >= 0) release<G>(ring, previous, release_to);
#pragma unroll
    for (int i = 0; i < kLongTiles; ++i) {
      pin(sums[i]);
      finish(i);
    }
  } else {
    const RingPlace<G::kStages> tail = place;
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
        if (previous >= 0) release<G>(ring, previous, release_to);
      } else {
        pin(sums[i - 1]);
        finish(i - 1);
      }
    }
    wgmma_wait<0>();
    place = tail;
#pragma unroll 1
    for (int slice = 0; slice < in_tail; ++slice, place.advance()) {
      release<G>(ring, place.stage, release_to);
    }
    pin(sums[kLongTiles - 1]);
    finish(kLongTiles - 1);
  }
}
