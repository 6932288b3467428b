#pragma once

// C[M,N] = A[M,K] @ B[N,K]^T with wgmma and the copy engine: the body of gemm_wgmma.cu and
// gemm_wgmma_f16.cu. kernels/README.md tells the story.

#include "common/cluster_sum.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/setmaxnreg.cuh"
#include "common/tma_operand.cuh"
#include "common/wgmma_config.cuh"
#include "common/wgmma_loop.cuh"

/// Shared memory, in this order: the ring's slots, the warps' staging, the ring's barriers.
constexpr int kRingBytes = kStages * kStageBytes;
constexpr bool kStaged = !kSwap && kSplitK == 1 && kClusterK == 1;
// One panel is filled while one is read; but with pingpong nobody waits for the store, and the ring
// has better use for the space.
constexpr int kStagingPanels = kMode == Mode::pingpong ? 1 : 2;
constexpr int kStagingBytes = kStagingPanels * kPanelBytes;  // of a warp
constexpr int kStagingTotal = kStaged ? kConsumers * 4 * kStagingBytes : 0;

using OperandA = TmaOperand<kBlockM, kPanels, kClusterN>;
using OperandB = TmaOperand<kBlockN, kPanels, kClusterM>;
using Sums = WgmmaSums<kLongTiles, kWide>;
using SumOfCluster = ClusterSum<kLongTiles, kWide / 2, kClusterK, kConsumerThreads>;
static_assert(kClusterK == 1 || SumOfCluster::kBytes <= kRingBytes,
              "the cluster's sums are exchanged where the slices were");

/// One block's view of the product: what it works on, in which order.
struct GemmWork {
  UnitWalk walk;
  ClusterPlace place;
  int num_slices;

  __device__ __forceinline__ GemmWork(int m, int n, int k, int rank)
      : walk{kSchedule, kGroupM, cdiv(cdiv(m, kBlockM), kClusterM),
             cdiv(cdiv(n, kBlockN), kClusterN), kSplitK},
        place(cluster_place(rank, kClusterM, kClusterN)),
        num_slices(cdiv(k, kBlockK)) {}

  __device__ __forceinline__ int first() const { return static_cast<int>(blockIdx.x) / kCluster; }
  __device__ __forceinline__ int step() const { return static_cast<int>(gridDim.x) / kCluster; }
  __device__ __forceinline__ int first_m(const Unit& unit) const {
    return (unit.tile.m * kClusterM + place.m) * kBlockM;
  }
  __device__ __forceinline__ int first_n(const Unit& unit) const {
    return (unit.tile.n * kClusterN + place.n) * kBlockN;
  }
  __device__ __forceinline__ SliceRange slices(const Unit& unit) const {
    return slices_of(unit.split * kClusterK + place.k, kSplitK * kClusterK, num_slices);
  }
};

__device__ __forceinline__ auto turns_of(int warpgroup) {
  if constexpr (kMode == Mode::pingpong) {
    return Turns{warpgroup};
  } else {
    return NoTurns{};
  }
}

/// Which block's barrier this thread arrives at when its warpgroup lets go of a slot: those that
/// copy into this block lie in its row or its column of the cluster. -1 for most threads.
__device__ __forceinline__ int release_target(const ClusterPlace& place) {
  const int thread = static_cast<int>(threadIdx.x) % 128;
  if (thread >= kLayer) return -1;
  const bool shares = thread / kClusterN == place.m || thread % kClusterN == place.n;
  return shares ? place.k * kLayer + thread : -1;
}

/// Blocks that need the rows of A that this one needs, as bits; and likewise of B.
__device__ __forceinline__ unsigned short sharers_of_a(const ClusterPlace& place) {
  return static_cast<unsigned short>(((1u << kClusterN) - 1)
                                     << (place.k * kLayer + place.m * kClusterN));
}
__device__ __forceinline__ unsigned short sharers_of_b(const ClusterPlace& place) {
  unsigned blocks = 0;
#pragma unroll
  for (int m = 0; m < kClusterM; ++m) blocks |= 1u << (m * kClusterN);
  return static_cast<unsigned short>(blocks << (place.k * kLayer + place.n));
}

template <typename Element>
__device__ __forceinline__ void gemm_produce(const GemmWork& work, const Ring<kStages>& ring,
                                             unsigned slots, const TensorMap& a_map,
                                             const TensorMap& b_map) {
  const OperandA a = {&a_map, work.place.n, sharers_of_a(work.place)};
  const OperandB b = {&b_map, work.place.m, sharers_of_b(work.place)};
  RingPlace<kStages> place;
  bool backwards = false;
#pragma unroll 1
  for (int index = work.first(); index < work.walk.count(); index += work.step()) {
    const Unit unit = work.walk.at(index);
    const SliceRange slices = work.slices(unit);
    const int first_m = work.first_m(unit), first_n = work.first_n(unit);
    if constexpr (kSwap) {
      produce<kStages, kBlockK>(ring, place, slots, b, a, first_n, first_m, slices, backwards);
    } else {
      produce<kStages, kBlockK>(ring, place, slots, a, b, first_m, first_n, slices, backwards);
    }
    if constexpr (!kPersistent) break;
    backwards = !backwards;  // the slices read last are still in L2, and neighbours need them
  }
}

/// `wait_for_cluster` is run by all threads of all blocks, twice, when they add up their sums.
template <typename Element>
__device__ __forceinline__ void gemm_consume(const GemmWork& work, const Ring<kStages>& ring,
                                             unsigned slots, unsigned char* smem, Element* c,
                                             float* partial, int m, int n) {
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  const int tile_row = kMode == Mode::pingpong ? 0 : warpgroup * kLongTiles * 64;
  const int target = release_target(work.place);
  RingPlace<kStages> place;
  const auto turns = turns_of(warpgroup);
  turns.start();
  bool mine = kMode != Mode::pingpong || warpgroup == 0;
#pragma unroll 1
  for (int index = work.first(); index < work.walk.count(); index += work.step()) {
    const Unit unit = work.walk.at(index);
    const SliceRange slices = work.slices(unit);
    if (kMode == Mode::pingpong && !mine) {
      place.skip(slices.count);
      mine = true;
      continue;
    }
    Sums sums;  // here, so that the last tile's are dead
    consume<Element, kPanels, kLong, kLayer>(sums, ring, place, slots,
                                             static_cast<unsigned>(tile_row * 128), slices.count,
                                             target, turns);
    if constexpr (kMode == Mode::pingpong) mine = false;

    const int first_m = work.first_m(unit), first_n = work.first_n(unit);
    const int first_long = (kSwap ? first_n : first_m) + tile_row;
    const int first_wide = kSwap ? first_m : first_n;
    float* own = partial + static_cast<long long>(unit.split) * m * n;
    const auto store_all = [&](const auto& store_with) {
      if constexpr (kSplitK > 1) {
        store_with(StorePartial<kSwap>{own, m, n});
      } else if constexpr (kSwap) {
        store_with(StoreGroupTransposed<Element>{c, m, n});
      } else {
        store_with(StoreGroup<Element>{c, m, n});
      }
    };
    if constexpr (kClusterK > 1) {
      const SumOfCluster sum = {slots, work.place.k, work.place.m * kClusterN + work.place.n,
                                kLayer};
      cluster_arrive();
      cluster_wait();  // nobody reads slices any more
      sum.send(sums);
      cluster_arrive();
      cluster_wait();
      store_all([&](const auto& store) { sum.store(smem, store, first_long, first_wide); });
    } else if constexpr (kStaged) {
      const int warp = static_cast<int>(threadIdx.x) / 32;
      const StoreRows<Element, kStagingPanels> store = {c, m, n,
                                                        smem + kRingBytes + warp * kStagingBytes};
      if (store.fits()) {
        store(sums, first_long, first_wide);
      } else {
        store_groups(sums, StoreGroup<Element>{c, m, n}, first_long, first_wide);
      }
    } else {
      store_all([&](const auto& store) { store_groups(sums, store, first_long, first_wide); });
    }
    if constexpr (!kPersistent) break;
  }
}

template <typename Element>
__device__ __forceinline__ void gemm_wgmma_block(const TensorMap& a_map, const TensorMap& b_map,
                                                 Element* c, float* partial, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned slots = shared_address(smem);
  const Ring<kStages> ring = {slots + kRingBytes + kStagingTotal};
  const bool is_producer = static_cast<int>(threadIdx.x) >= kConsumerThreads;
  if (static_cast<int>(threadIdx.x) == kConsumerThreads) {
    tma_prefetch_map(a_map);
    tma_prefetch_map(b_map);
    ring.init(kSharers * (kClusterM + kClusterN - 1));
  }
  if constexpr (kSplitK > 1) grid_release();
  if constexpr (kLayer > 1) {  // copies reach other blocks: their barriers must be there
    cluster_arrive();
    cluster_wait();
  } else if (is_producer) {  // it knows its own barriers, and starts copying at once
    __syncwarp();
    named_barrier_arrive(0, kThreads);
  } else {
    named_barrier_sync(0, kThreads);
  }

  const GemmWork work(m, n, k, kCluster > 1 ? static_cast<int>(cluster_rank()) : 0);
  if (is_producer) {
    if constexpr (kConsumers > 1) registers_shrink<kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == kConsumerThreads) {
      gemm_produce<Element>(work, ring, slots, a_map, b_map);
    }
    __syncwarp();
    if constexpr (kClusterK > 1) {  // the consumers' two barriers count all threads
      cluster_arrive();
      cluster_wait();
      cluster_arrive();
      cluster_wait();
    }
  } else {
    if constexpr (kConsumers > 1) registers_grow<kConsumerRegisters>();
    gemm_consume(work, ring, slots, smem, c, partial, m, n);
  }
  if constexpr (kLayer > 1) {  // other blocks arrive at this one's barriers: stay until they have
    cluster_arrive();
    cluster_wait();
  }
}
