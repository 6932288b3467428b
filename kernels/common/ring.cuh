#pragma once

// A ring of slots that one side fills and the other empties. Compiled by the host too: the tests
// walk it.

#include "common/types.cuh"

/// The slot a side is at, and the parity of the round it is in: parity flips each time the ring has
/// been gone around.
template <int kStages>
struct RingPlace {
  static_assert(kStages >= 1, "a ring has a slot");
  int slot = 0;
  unsigned parity = 0;

  ASSAY_HD constexpr void advance() {
    if (++slot == kStages) {
      slot = 0;
      parity ^= 1;
    }
  }

  /// advance() `count` times: past the slices that somebody else works on.
  ASSAY_HD constexpr void skip(int count) {
    const int to = slot + count;
    parity ^= static_cast<unsigned>(to / kStages) & 1u;
    slot = to % kStages;
  }
};

#ifdef __CUDACC__

#include "common/ptx/mbarrier.cuh"

/// The barriers of a ring in shared memory. `full` completes when a slot's copies have landed,
/// `empty` when everyone who reads it has let go of it.
template <int kStages>
struct Ring {
  unsigned barriers;  // kStages full ones, then kStages empty ones

  static constexpr int kBytes = kStages * 16;

  __device__ __forceinline__ unsigned full(int slot) const { return barriers + slot * 8; }
  __device__ __forceinline__ unsigned empty(int slot) const {
    return barriers + (kStages + slot) * 8;
  }

  /// By one thread; fence_mbarrier_init and a barrier come between this and all other uses.
  /// Unrolled, as a launch begins with it.
  __device__ __forceinline__ void init(unsigned readers) const {
#pragma unroll
    for (int slot = 0; slot < kStages; ++slot) {
      mbarrier_init(full(slot), 1);
      mbarrier_init(empty(slot), readers);
    }
  }

  __device__ __forceinline__ bool is_full(const RingPlace<kStages>& place) const {
    return mbarrier_test_wait(full(place.slot), place.parity);
  }
  __device__ __forceinline__ void wait_full(const RingPlace<kStages>& place) const {
    while (!mbarrier_try_wait(full(place.slot), place.parity)) {
    }
  }
  /// In the first round nobody has used the slots: the parity before a barrier's first is complete.
  __device__ __forceinline__ void wait_empty(const RingPlace<kStages>& place) const {
    while (!mbarrier_try_wait(empty(place.slot), place.parity ^ 1)) {
    }
  }
};

#endif
