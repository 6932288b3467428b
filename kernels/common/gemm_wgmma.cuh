#pragma once

// C[M,N] = A[M,K] @ B[N,K]^T with wgmma and the copy engine: the body of gemm_wgmma.cu and
// gemm_wgmma_f16.cu. kernels/README.md tells the story.

#include "common/cluster_sum.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/setmaxnreg.cuh"
#include "common/tma_operand.cuh"
#include "common/wgmma_config.cuh"
#include "common/wgmma_loop.cuh"

/// Shared memory, in this order: the ring's slots, the warps' staging, what other blocks of the
/// cluster send, the ring's barriers and the barrier of what is sent.
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
constexpr int kReceived = kRingBytes + kStagingTotal;  // where things begin
constexpr int kBarriers = kReceived + SumOfCluster::kBytes;
constexpr int kSumBarrier = kBarriers + Ring<kStages>::kBytes;

/// One block's view of the product: what it works on, in which order.
struct GemmWork {
  UnitWalk walk;
  ClusterPlace place;
  int num_slices;
  Unit only;  // the block's, when it does not stay for more

  __device__ __forceinline__ GemmWork(int m, int n, int k, int rank)
      : walk{kSchedule, kGroupM, cdiv(cdiv(m, kBlockM), kClusterM),
             cdiv(cdiv(n, kBlockN), kClusterN), kSplitK},
        place(cluster_place(rank, kClusterM, kClusterN)),
        num_slices(cdiv(k, kBlockK)),
        only(kPersistent ? Unit{} : walk.at(first())) {}

  __device__ __forceinline__ int first() const { return static_cast<int>(blockIdx.x) / kCluster; }
  __device__ __forceinline__ int step() const { return static_cast<int>(gridDim.x) / kCluster; }
  __device__ __forceinline__ Unit unit(int index) const {
    return kPersistent ? walk.at(index) : only;
  }
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
    const Unit unit = work.unit(index);
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
  // A block with one tile rehearses: without slices and without rows to store it fetches the
  // instructions of the way out while the first slice is on its way. A launch finds them in no
  // cache, and at its end nothing hides that (0.3 us).
  bool live = kPersistent;
#pragma unroll 1
  for (int index = work.first(); index < work.walk.count();) {
    const Unit unit = work.unit(index);
    const SliceRange slices = work.slices(unit);
    if (kMode == Mode::pingpong && !mine) {
      place.skip(slices.count);
      mine = true;
      index += work.step();
      continue;
    }
    Sums sums;  // here, so that the last tile's are dead
    consume<Element, kPanels, kLong, kLayer>(sums, ring, place, slots,
                                             static_cast<unsigned>(tile_row * 128),
                                             live ? slices.count : 0, target, turns);
    if constexpr (kMode == Mode::pingpong) mine = false;

    const int first_m = work.first_m(unit), first_n = work.first_n(unit);
    const int first_long = (kSwap ? first_n : first_m) + tile_row;
    const int first_wide = kSwap ? first_m : first_n;
    const int num_rows = live ? m : 0;
    float* own_partial = partial + static_cast<long long>(unit.split) * m * n;
    const auto store_all = [&](const auto& store_with) {
      if constexpr (kSplitK > 1) {
        store_with(StorePartial<kSwap>{own_partial, num_rows, n});
      } else if constexpr (kSwap) {
        store_with(StoreGroupTransposed<Element>{c, num_rows, n});
      } else {
        store_with(StoreGroup<Element>{c, num_rows, n});
      }
    };
    if constexpr (kClusterK > 1) {
      const SumOfCluster sum = {slots + kReceived, slots + kSumBarrier, work.place.k,
                                work.place.m * kClusterN + work.place.n, kLayer};
      SumOfCluster::Share own = {};
      if (live) {
        cluster_wait();  // all blocks run
        sum.send(sums, own);
        sum.wait();
      }
      store_all([&](const auto& store) {
        sum.store(smem + kReceived, own, store, first_long, first_wide);
      });
    } else if constexpr (kStaged) {
      const int warp = static_cast<int>(threadIdx.x) / 32;
      const StoreRows<Element, kStagingPanels> store = {c, num_rows, n,
                                                        smem + kRingBytes + warp * kStagingBytes};
      if (store.fits()) {
        store(sums, first_long, first_wide);
      } else {
        store_groups(sums, StoreGroup<Element>{c, num_rows, n}, first_long, first_wide);
      }
    } else {
      store_all([&](const auto& store) { store_groups(sums, store, first_long, first_wide); });
    }
    if constexpr (kPersistent) {
      index += work.step();
    } else if (live) {
      break;
    }
    live = true;
  }
}

template <typename Element>
__device__ __forceinline__ void gemm_wgmma_block(const TensorMap& a_map, const TensorMap& b_map,
                                                 Element* c, float* partial, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned slots = shared_address(smem);
  const Ring<kStages> ring = {slots + kBarriers};
  const bool is_producer = static_cast<int>(threadIdx.x) >= kConsumerThreads;
  // Barriers are set up by a thread that has nothing else to do yet.
  if (threadIdx.x == 0) {
    ring.init(kSharers * (kClusterM + kClusterN - 1));
    if constexpr (kClusterK > 1) mbarrier_init(slots + kSumBarrier, 1);
    fence_mbarrier_init();
  } else if (static_cast<int>(threadIdx.x) == kConsumerThreads) {
    tma_prefetch_map(a_map);
    tma_prefetch_map(b_map);
  }
  const GemmWork work(m, n, k, kCluster > 1 ? static_cast<int>(cluster_rank()) : 0);
  if constexpr (kSplitK > 1) grid_release();
  if constexpr (kLayer > 1) {  // copies reach other blocks: their barriers must be there
    cluster_arrive_relaxed();
    cluster_wait();
  } else {
    __syncthreads();
  }
  if constexpr (kClusterK > 1) cluster_arrive_relaxed();  // waited for before anything is sent

  if (is_producer) {
    if constexpr (kConsumers > 1) registers_shrink<kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == kConsumerThreads) {
      gemm_produce<Element>(work, ring, slots, a_map, b_map);
    }
    __syncwarp();
    if constexpr (kClusterK > 1) cluster_wait();
  }
  // Keeps the compiler from making one branch of two, with the producer's code behind the
  // consumers': the first copies would wait until it has been fetched from memory.
  if constexpr (!kPersistent) __syncwarp();
  if (!is_producer) {
    if constexpr (kConsumers > 1) registers_grow<kConsumerRegisters>();
    gemm_consume(work, ring, slots, smem, c, partial, m, n);
  }
  if constexpr (kLayer > 1) {  // other blocks arrive at this one's barriers: stay until they have
    cluster_arrive();
    cluster_wait();
  }
}
