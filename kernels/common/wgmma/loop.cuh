#pragma once

// The main loop of a Hopper matrix product: what consumers do with the stages of a ring, which a
// producer fills (produce_all, block.cuh). A stage holds the long operand's slice and after it the
// wide one's.

#include "common/ptx/cluster.cuh"
#include "common/ptx/named_barrier.cuh"
#include "common/wgmma/geometry.cuh"
#include "common/wgmma/ring.cuh"
#include "common/wgmma/slice.cuh"
#include "common/wgmma/tile_source.cuh"

/// A stage that is being filled.
struct Stage {
  int index;
  unsigned barrier;
  unsigned address;
};

/// The slice of a work that comes `index`th, the last one first when `backwards`.
template <typename G>
__device__ __forceinline__ int slice_at(const Work& work, int index, bool backwards) {
  return G::kStaggered ? work.staggered(index) : work.slices.at(index, backwards);
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

/// Where a warpgroup's rows of both operands lie in stage 0, as panel_address. `long_offset` is its
/// long rows' place in a stage, in bytes.
template <typename G, typename StepsOfG>
struct StageRows {
  unsigned long_rows, wide_rows;

  __device__ __forceinline__ StageRows(unsigned stages, unsigned long_offset)
      : long_rows(panel_address(stages + long_offset)),
        wide_rows(StepsOfG::wide_address(stages + G::kPanels * G::kLong * 128)) {}

  /// Issues the wgmma of steps kFirst to kEnd of a stage's slice.
  template <int kFirst, int kEnd>
  __device__ __forceinline__ void multiply(Accumulators<G>& sums, unsigned offset) const {
    multiply_steps<G, StepsOfG, kFirst, kEnd>(sums, long_rows + offset, wide_rows + offset);
  }
};

/// From a stage to what its address adds to a panel_address.
template <typename G>
__device__ __forceinline__ unsigned stage_offset(int stage) {
  return static_cast<unsigned>(stage * (G::kStageBytes / 16));
}

/// The main loop: a warpgroup multiplies slices 0 to `end` - 1 of `count`. The tensor cores take
/// few wgmma ahead, so that what stands between two of them shows: a stage is let go of, and the
/// next one looked at, in the middle of a slice. The turn passes on when the last slice is there,
/// so that the other warpgroup's first follows without a gap. `meanwhile` is called while the
/// tensor cores have the first slice to multiply. Returns the stage that is read last, or -1: the
/// tensor cores are still at work on it.
template <typename G, typename StepsOfG, typename Turn, typename Meanwhile>
__device__ __forceinline__ int multiply_slices(Accumulators<G>& sums,
                                               const StageRows<G, StepsOfG>& rows,
                                               const Ring<G::kStages>& ring,
                                               RingPlace<G::kStages>& place, int end, int count,
                                               int release_to, const Turn& turn,
                                               const Meanwhile& meanwhile) {
  constexpr int kSteps = G::kPanels * 4;
  // Cheaper than telling the first wgmma to start from zero: the compiler would keep the sums of
  // the tile before alive for it, and spill.
#pragma unroll
  for (int i = 0; i < G::kLongTiles; ++i) {
#pragma unroll
    for (int j = 0; j < G::kWide / 2; ++j) sums[i][j] = 0;
  }
  turn.take();
  int previous = -1;
  bool full = false;  // the stage at `place`, for all that is known
#pragma unroll 1
  for (int slice = 0; slice < end; ++slice) {
    if (!full) ring.wait_full(place);
    if (slice + 1 == count) turn.pass();
    StepsOfG::fence();
    const unsigned offset = stage_offset<G>(place.stage);
    rows.template multiply<0, kSteps / 2>(sums, offset);
    wgmma_commit();
    wgmma_wait<1>();
    if (previous >= 0) release<G>(ring, previous, release_to);
    previous = place.stage;
    place.advance();
    full = ring.is_full(place);
    rows.template multiply<kSteps / 2, kSteps>(sums, offset);
    wgmma_commit();
    if (slice == 0) meanwhile();
  }
  return previous;
}

/// A warpgroup's half, for kernels that use the sums when all of them are final.
template <typename G, typename StepsOfG, typename Turn>
__device__ __forceinline__ void consume_whole(Accumulators<G>& sums, const Ring<G::kStages>& ring,
                                              RingPlace<G::kStages>& place, unsigned stages,
                                              unsigned long_offset, int count, int release_to,
                                              const Turn& turn) {
  const StageRows<G, StepsOfG> rows(stages, long_offset);
  const int previous =
      multiply_slices<G>(sums, rows, ring, place, count, count, release_to, turn, [] {});
  if (count == 0) turn.pass();
  wgmma_wait<0>();
  if (previous >= 0) release<G>(ring, previous, release_to);
#pragma unroll
  for (int i = 0; i < G::kLongTiles; ++i) pin(sums[i]);
}

/// A warpgroup's half. `finish(i)` is called when the sums of the `i`th 64 rows are final. The last
/// G::kTail slices are multiplied for one 64 rows after the other, so that the tensor cores work on
/// the second while the first is stored. `meanwhile` is called once, also where there is no slice.
template <typename G, typename Turn, typename Meanwhile, typename Finish>
__device__ __forceinline__ void consume(Accumulators<G>& sums, const Ring<G::kStages>& ring,
                                        RingPlace<G::kStages>& place, unsigned stages,
                                        unsigned long_offset, int count, int release_to,
                                        const Turn& turn, const Meanwhile& meanwhile,
                                        const Finish& finish) {
  static_assert(G::kTail < G::kStages,
                "the last slices are all in the ring, and a stage is left to fill");
  const StageRows<G, Steps<G>> rows(stages, long_offset);
  const int in_tail = smaller(count, G::kTail);
  const int previous = multiply_slices<G>(sums, rows, ring, place, count - in_tail, count,
                                          release_to, turn, meanwhile);
  if (count == in_tail) meanwhile();
  if constexpr (G::kTail == 0) {
    if (count == 0) turn.pass();
    wgmma_wait<0>();
    if (previous >= 0) release<G>(ring, previous, release_to);
#pragma unroll
    for (int i = 0; i < G::kLongTiles; ++i) {
      pin(sums[i]);
      finish(i);
    }
  } else {
    const RingPlace<G::kStages> tail = place;
#pragma unroll
    for (int i = 0; i < G::kLongTiles; ++i) {
      place = tail;
#pragma unroll 1
      for (int slice = 0; slice < in_tail; ++slice, place.advance()) {
        if (i == 0) ring.wait_full(place);
        wgmma_fence();
        const unsigned offset = stage_offset<G>(place.stage);
        multiply_steps<G, Steps<G>, 0, G::kPanels * 4>(
            reinterpret_cast<float(&)[1][G::kWide / 2]>(sums[i]), rows.long_rows + offset + i * 512,
            rows.wide_rows + offset);
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
    pin(sums[G::kLongTiles - 1]);
    finish(G::kLongTiles - 1);
  }
}
