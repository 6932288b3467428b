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
static_assert(kStaged || kStoreBy == StoreBy::lanes, "the copy engine takes C from shared memory");

// Slices at a tile's end that are multiplied for one 64 rows after the other. With pingpong there
// is no need: the other warpgroup keeps the tensor cores busy.
constexpr int kTail = kOverlap ? 2 : 0;

// A block that stays finds the next tile's corner while the tensor cores are at work; with
// pingpong, before a warpgroup's turn.
constexpr bool kLateCorner = kPersistent && kMode != Mode::pingpong;

using OperandA = TmaOperand<kBlockM, kPanels, kClusterN>;
using OperandB = TmaOperand<kBlockN, kPanels, kClusterM>;
using Sums = WgmmaSums<kLongTiles, kWide>;
using SumOfCluster = ClusterSum<kLongTiles, kWide / 2, kClusterK, kConsumerThreads>;
constexpr int kReceived = kRingBytes + kStagingTotal;  // where things begin
constexpr int kBarriers = kReceived + SumOfCluster::kBytes;
constexpr int kSumBarrier = kBarriers + Ring<kStages>::kBytes;

/// What a block gets: see gemm_wgmma.yaml.
template <typename Element>
struct GemmArgs {
  const TensorMap& a_map;
  const TensorMap& b_map;
  const TensorMap& c_map;
  Element* c;
  float* partial;
  int m, n, k;
};

/// What a block does at a time: a tile, or a run of its slices. `partial` says which partial sums
/// that makes; -1: the tile's whole sum.
struct Task {
  int unit;
  SliceRange slices;
  int partial;
};

/// The first element of a block's tile.
struct Corner {
  int m, n;

  __device__ __forceinline__ int first_long() const { return kSwap ? n : m; }
  __device__ __forceinline__ int first_wide() const { return kSwap ? m : n; }
};

__device__ __forceinline__ UnitWalk walk_of(int m, int n) {
  return {kSchedule, kGroupM, cdiv(cdiv(m, kBlockM), kClusterM), cdiv(cdiv(n, kBlockN), kClusterN),
          kSplitK};
}

/// Where the block at `place` of the cluster has its part of the cluster's tile.
__device__ __forceinline__ Corner corner_of(const Tile& tile, const ClusterPlace& place) {
  return {(tile.m * kClusterM + place.m) * kBlockM, (tile.n * kClusterN + place.n) * kBlockN};
}

/// One block's view of the product: what it works on, in which order.
struct GemmWork {
  UnitWalk walk;
  StreamWalk stream;
  ClusterPlace place;
  int num_slices;
  int worker;  // the block's cluster, of so many
  int workers;
  Unit only;  // the block's, when it does not stay for more

  __device__ __forceinline__ GemmWork(int m, int n, int k, int rank)
      : walk(walk_of(m, n)),
        stream{},
        place(cluster_place(rank, kClusterM, kClusterN)),
        num_slices(cdiv(k, kBlockK)),
        worker(static_cast<int>(blockIdx.x) / kCluster),
        workers(static_cast<int>(gridDim.x) / kCluster),
        only(kPersistent ? Unit{} : walk.at(worker)) {
    if constexpr (kStream) stream = {walk.count(), num_slices, workers};
  }

  __device__ __forceinline__ int num_tasks() const {
    if constexpr (!kPersistent) return 1;
    if constexpr (kStream) return stream.whole_rounds() + stream.num_pieces(worker);
    return cdiv(walk.count() - worker, workers);
  }
  __device__ __forceinline__ Task task(int index) const {
    if (kStream && index >= stream.whole_rounds()) {
      const Piece piece = stream.piece(worker, index - stream.whole_rounds());
      return {stream.first_cut() + piece.tile, piece.slices, piece.partial};
    }
    const int unit = worker + index * workers;
    const int split = kPersistent ? walk.split(unit) : only.split;
    return {unit, slices_of(split * kClusterK + place.k, kSplitK * kClusterK, num_slices),
            kSplitK > 1 ? unit : -1};
  }
  /// Takes a hundred cycles or, along a Hilbert curve, a thousand.
  __device__ __forceinline__ Corner corner(const Task& task) const {
    return corner_of(kPersistent ? walk.at(task.unit).tile : only.tile, place);
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
                                             unsigned slots, const GemmArgs<Element>& args) {
  const OperandA a = {&args.a_map, work.place.n, sharers_of_a(work.place)};
  const OperandB b = {&args.b_map, work.place.m, sharers_of_b(work.place)};
  RingPlace<kStages> place;
  bool backwards = false;
  const int num_tasks = work.num_tasks();
#pragma unroll 1
  for (int index = 0; index < num_tasks; ++index) {
    const Task task = work.task(index);
    const Corner corner = work.corner(task);
    if constexpr (kSwap) {
      produce<kStages, kBlockK>(ring, place, slots, b, a, corner.n, corner.m, task.slices,
                                backwards);
    } else {
      produce<kStages, kBlockK>(ring, place, slots, a, b, corner.m, corner.n, task.slices,
                                backwards);
    }
    backwards = !backwards;  // the slices read last are still in L2, and neighbours need them
  }
}

/// Where the task's partial sums go; `rank` is the block's in its layer.
template <typename Element>
__device__ __forceinline__ StoreFragment<kWide> partial_tile(const GemmArgs<Element>& args,
                                                             const Task& task, int rank,
                                                             bool live) {
  return {args.partial + static_cast<long long>(task.partial * kLayer + rank) * kTileSize, live};
}

/// The way out of 64 rows of a warpgroup's sums, of a block that does not add up with others.
/// `num_rows` of C there are, 0 in a rehearsal.
template <typename Element>
__device__ __forceinline__ void store_rows(const GemmArgs<Element>& args, unsigned char* smem,
                                           float (&sums)[kWide / 2], const Task& task,
                                           const Corner& corner, int num_rows, int tile_row,
                                           int rank) {
  const int first_long = corner.first_long() + tile_row;
  const int first_wide = corner.first_wide();
  if (kSplitK > 1 || (kStream && task.partial >= 0)) {
    store_groups(sums, partial_tile(args, task, rank, num_rows > 0), tile_row, 0);
    return;
  }
  if constexpr (kSwap) {
    store_groups(sums, StoreGroupTransposed<Element>{args.c, num_rows, args.n}, first_long,
                 first_wide);
    return;
  }
  unsigned char* staging = smem + kRingBytes + static_cast<int>(threadIdx.x) / 32 * kStagingBytes;
  if constexpr (kStoreBy == StoreBy::tma) {
    StoreBoxes<Element, kStagingPanels>{&args.c_map, num_rows, args.n, shared_address(staging)}(
        sums, first_long, first_wide);
    return;
  }
  StoreRows<Element, kStagingPanels>{args.c, num_rows, args.n, staging}(sums, first_long,
                                                                        first_wide);
}

template <typename Element>
__device__ __forceinline__ void gemm_consume(const GemmWork& work, const Ring<kStages>& ring,
                                             unsigned slots, unsigned char* smem,
                                             const GemmArgs<Element>& args) {
  // The shuffle tells the compiler that a warp agrees on it. What follows from it, places in the
  // ring and addresses above all, then stays in uniform registers: 30 to 40 instructions a slice
  // fewer.
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0);
  const int tile_row = kMode == Mode::pingpong ? 0 : warpgroup * kLongTiles * 64;
  const int rank = work.place.m * kClusterN + work.place.n;  // in its layer
  const int target = release_target(work.place);
  RingPlace<kStages> place;
  const auto turns = turns_of(warpgroup);
  turns.start();
  bool mine = kMode != Mode::pingpong || warpgroup == 0;
  // A block with one tile rehearses: without slices and without rows to store it fetches the
  // instructions of the way out while the first slice is on its way. A launch finds them in no
  // cache, and at its end nothing hides that (0.3 us).
  bool live = kPersistent;
  const int num_tasks = work.num_tasks();
#pragma unroll 1
  for (int index = 0; index < num_tasks;) {
    const Task task = work.task(index);
    if (kMode == Mode::pingpong && !mine) {
      place.skip(task.slices.count);
      mine = true;
      ++index;
      continue;
    }
    const int num_rows = live ? args.m : 0;
    Corner corner = kLateCorner ? Corner{} : work.corner(task);
    const auto find_corner = [&] {
      if constexpr (kLateCorner) corner = work.corner(task);
    };
    const auto finish = [&](float(&rows)[kWide / 2], int i) {
      if constexpr (kClusterK == 1) {
        store_rows(args, smem, rows, task, corner, num_rows, tile_row + i * 64, rank);
      }
    };
    Sums sums;  // here, so that the last tile's are dead
    consume<Element, kPanels, kLong, kLayer, kTail>(
        sums, ring, place, slots, static_cast<unsigned>(tile_row * 128),
        live ? task.slices.count : 0, target, turns, find_corner, finish);
    if constexpr (kMode == Mode::pingpong) mine = false;
    if constexpr (kClusterK > 1) {
      const SumOfCluster sum = {slots + kReceived, slots + kSumBarrier, work.place.k, rank, kLayer};
      SumOfCluster::Share own = {};
      if (live) {
        cluster_wait();  // all blocks run
        sum.send(sums, own);
        sum.wait();
      }
      const auto store_with = [&](const auto& store) {
        sum.store(smem + kReceived, own, store, corner.first_long() + tile_row,
                  corner.first_wide());
      };
      if constexpr (kSplitK > 1) {
        sum.store(smem + kReceived, own, partial_tile(args, task, rank, live), tile_row, 0);
      } else if constexpr (kSwap) {
        store_with(StoreGroupTransposed<Element>{args.c, num_rows, args.n});
      } else {
        store_with(StoreGroup<Element>{args.c, num_rows, args.n});
      }
    }
    if (live) ++index;
    live = true;
  }
  if constexpr (kStoreBy == StoreBy::tma) tma_store_wait_read<0>();
}

template <typename Element>
__device__ __forceinline__ void gemm_wgmma_block(const GemmArgs<Element>& args) {
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
    tma_prefetch_map(args.a_map);
    tma_prefetch_map(args.b_map);
    if constexpr (kStoreBy == StoreBy::tma) tma_prefetch_map(args.c_map);
  }
  const GemmWork work(args.m, args.n, args.k, kCluster > 1 ? static_cast<int>(cluster_rank()) : 0);
  if constexpr (kSplitK > 1 || kStream) grid_release();
  if constexpr (kLayer > 1) {  // copies reach other blocks: their barriers must be there
    cluster_arrive_relaxed();
    __syncthreads();  // costs nothing here, and is what racecheck knows
    cluster_wait();
  } else {
    __syncthreads();
  }
  if constexpr (kClusterK > 1) cluster_arrive_relaxed();  // waited for before anything is sent

  if (is_producer) {
    if constexpr (kConsumers > 1) registers_shrink<kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == kConsumerThreads) {
      gemm_produce(work, ring, slots, args);
    }
    __syncwarp();
    if constexpr (kClusterK > 1) cluster_wait();
  }
  // Keeps the compiler from making one branch of two, with the producer's code behind the
  // consumers': the first copies would wait until it has been fetched from memory.
  if constexpr (!kPersistent) __syncwarp();
  if (!is_producer) {
    if constexpr (kConsumers > 1) registers_grow<kConsumerRegisters>();
    gemm_consume(work, ring, slots, smem, args);
  }
  if constexpr (kLayer > 1) {  // other blocks arrive at this one's barriers: stay until they have
    cluster_arrive();
    cluster_wait();
  }
}
