#pragma once

// A ring of stages that one side fills and the other empties. Compiled by the host too: the tests
// walk it.

#include "common/types.cuh"

/// The stage a side is at, and the parity of the phase its barriers are in: it flips each time the
/// ring has been gone around.
template <int kStages>
struct RingPlace {
  static_assert(kStages >= 1, "a ring has a stage");
  int stage = 0;
  unsigned parity = 0;

  ASSAY_HD constexpr void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }

  /// advance() `count` times: past the slices that somebody else works on.
  ASSAY_HD constexpr void skip(int count) {
    const int to = stage + count;
    parity ^= static_cast<unsigned>(to / kStages) & 1u;
    stage = to % kStages;
  }
};

/// Of a full and an empty barrier for each stage.
template <int kStages>
constexpr int kRingBarrierBytes = kStages * 16;

#ifdef __CUDACC__

#include "common/ptx/mbarrier.cuh"

/// The barriers of a ring in shared memory. `full` completes when a stage's copies have landed,
/// `empty` when everyone who reads it has let go of it.
template <int kStages>
struct Ring {
  unsigned barriers;  // kStages full ones, then kStages empty ones

  __device__ __forceinline__ unsigned full(int stage) const { return barriers + stage * 8; }
  __device__ __forceinline__ unsigned empty(int stage) const {
    return barriers + (kStages + stage) * 8;
  }

  /// By one thread; fence_mbarrier_init and a barrier come between this and all other uses.
  /// Unrolled, as a launch begins with it.
  __device__ __forceinline__ void init(unsigned readers) const {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(full(stage), 1);
      mbarrier_init(empty(stage), readers);
    }
  }

  __device__ __forceinline__ bool is_full(const RingPlace<kStages>& place) const {
    return mbarrier_test_wait(full(place.stage), place.parity);
  }
  __device__ __forceinline__ void wait_full(const RingPlace<kStages>& place) const {
    while (!mbarrier_try_wait(full(place.stage), place.parity)) {
    }
  }
  /// In the first phase nobody has used the stages: the parity before a barrier's first is
  /// complete.
  __device__ __forceinline__ void wait_empty(const RingPlace<kStages>& place) const {
    while (!mbarrier_try_wait(empty(place.stage), place.parity ^ 1)) {
    }
  }
};

#endif
