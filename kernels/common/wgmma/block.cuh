#pragma once

// The body of a kernel that multiplies with wgmma: brings the slices of two operands through a ring
// of stages, multiplies them, and lets outputs go. A kernel names its tunables (geometry.cuh), its
// tile source (tile_source.cuh), its operands (operand.cuh) and its output with its transform
// (stores.cuh, transform.cuh). docs/kernels/wgmma.md explains it.

#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/setmaxnreg.cuh"
#include "common/wgmma/cluster_sum.cuh"
#include "common/wgmma/layout.cuh"
#include "common/wgmma/loop.cuh"
#include "common/wgmma/operand.cuh"
#include "common/wgmma/tile_source.cuh"

/// Until the barriers are there, also those of the blocks that copies reach.
template <typename G>
__device__ __forceinline__ void meet() {
  if constexpr (G::kLayer > 1) {
    cluster_arrive_relaxed();
    __syncthreads();  // costs nothing here, and is what racecheck knows
    cluster_wait();
  } else {
    __syncthreads();
  }
  if constexpr (G::kClusterK > 1) cluster_arrive_relaxed();  // waited for before anything is sent
}

/// At a block's end: other blocks arrive at this one's barriers.
template <typename G>
__device__ __forceinline__ void leave() {
  if constexpr (G::kLayer > 1) {
    cluster_arrive();
    cluster_wait();
  }
}

/// The producer's part, by one thread: fills a stage with each slice of each of the block's tiles.
/// `copies.at(work, i, backwards)` says which slice comes `i`th, `copies.copy(stage, corner, at)`
/// asks for its copies, of Copies::kBytes.
template <typename G, typename Tiles, typename Copies>
__device__ __forceinline__ void produce_all(const Tiles& tiles, const Ring<G::kStages>& ring,
                                            unsigned stages, Copies&& copies) {
  RingPlace<G::kStages> place;
  bool backwards = false;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const Work work = tiles.at(index);
    const Corner corner = tiles.corner(work);
#pragma unroll 1
    for (int i = 0; i < work.slices.count; ++i, place.advance()) {
      ring.wait_empty(place);
      const Stage stage = {place.stage, ring.full(place.stage),
                           stages + place.stage * G::kStageBytes};
      const auto at = copies.at(work, i, backwards);
      mbarrier_arrive_expect_bytes(stage.barrier, copies.kBytes);
      copies.copy(stage, corner, at);
    }
    backwards = !backwards;  // the slices read last are still in L2, and neighbours need them
  }
  copies.end();
}

/// The copies of two operands' slices.
template <typename G, typename OperandA, typename OperandB>
struct OperandCopies {
  static constexpr int kBytes = OperandA::kSliceBytes + OperandB::kSliceBytes;
  static_assert(kBytes == G::kStageBytes, "the operands fill a stage");

  const OperandA& a;
  const OperandB& b;
  CopyShare a_share, b_share;

  __device__ __forceinline__ int at(const Work& work, int i, bool backwards) const {
    return slice_at<G>(work, i, backwards) * G::kBlockK;
  }
  __device__ __forceinline__ void copy_a(unsigned to, unsigned barrier, const Corner& corner,
                                         int column) const {
    a.copy_slice(a_share, to, barrier, corner.m, column);
  }
  __device__ __forceinline__ void copy_b(unsigned to, unsigned barrier, const Corner& corner,
                                         int column) const {
    b.copy_slice(b_share, to, barrier, corner.n, column);
  }
  __device__ __forceinline__ void end() const {}
  /// The long operand first.
  __device__ __forceinline__ void copy(const Stage& stage, const Corner& corner, int column) const {
    if constexpr (G::kSwap) {
      copy_b(stage.address, stage.barrier, corner, column);
      copy_a(stage.address + OperandB::kSliceBytes, stage.barrier, corner, column);
    } else {
      copy_a(stage.address, stage.barrier, corner, column);
      copy_b(stage.address + OperandA::kSliceBytes, stage.barrier, corner, column);
    }
  }
};

/// A warpgroup that multiplies, in its block.
template <typename G>
struct ConsumerPlace {
  int warpgroup;
  int in_tile;     // among those that share a tile
  int rank;        // of the block in its layer
  int release_to;  // which block's barriers this thread arrives at, or -1

  /// One of `releasing` threads arrives at each.
  __device__ __forceinline__ explicit ConsumerPlace(const ClusterPlace& block, int releasing = 128)
      // The shuffle tells the compiler that a warp agrees on it. What follows from it, places in
      // the ring and addresses above all, then stays in uniform registers: 30 to 40 instructions a
      // slice fewer.
      : warpgroup(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0)),
        in_tile(G::kMode == Mode::pingpong ? 0 : warpgroup),
        rank(block.m * G::kClusterN + block.n),
        release_to(release_target<G>(block, static_cast<int>(threadIdx.x) % releasing)) {}

  /// Where the warpgroup's long rows begin in a stage, in bytes.
  __device__ __forceinline__ unsigned long_offset() const {
    return static_cast<unsigned>(in_tile * G::kLongTiles * 64 * 128);
  }
  __device__ __forceinline__ auto turns() const {
    if constexpr (G::kMode == Mode::pingpong) {
      return Turns{warpgroup};
    } else {
      return NoTurns{};
    }
  }
};

/// Where a work's partial sums go; `rank` is the block's in its layer.
template <typename G>
__device__ __forceinline__ PartialTile<G> partial_tile(float* partial, int part, int rank) {
  return {partial + static_cast<long long>(part * G::kLayer + rank) * G::kTileSize};
}

/// The way out of one warpgroup's sums of a tile.
template <typename G, typename Output>
struct WayOut {
  const Output& output;
  unsigned char* smem;
  const Work& work;
  int rank;       // of the block in its layer
  int warpgroup;  // among those that share a tile
  int end_m;      // of the rows of C; 0 in a rehearsal
  bool live;      // false in a rehearsal

  /// Where the warpgroup's outputs begin: on the long side, and on the wide one.
  __device__ __forceinline__ int first_long(const Corner& corner) const {
    return corner.first_long<G>() / G::kLongProducts + warpgroup * G::kOutputTiles * 64;
  }
  __device__ __forceinline__ int first_wide(const Corner& corner) const {
    return corner.first_wide<G>() / G::kWideProducts;
  }

  /// The `i`th 64 rows of sums, of a block that does not add up with others.
  __device__ __forceinline__ void store_rows(const Accumulators<G>& sums, int i,
                                             const Corner& corner) const {
    if (G::kSplitK > 1 || (G::kStream && work.partial >= 0)) {
      if (!live) return;
      const PartialTile<G> tile = partial_tile<G>(output.partial, work.partial, rank);
#pragma unroll
      for (int column = 0; column < G::kWide / 8; ++column) {
        const float* from = &sums[i][column * 4];
        const float four[4] = {from[0], from[1], from[2], from[3]};
        tile.store(four, {warpgroup * G::kLongTiles + i, column});
      }
      return;
    }
    if (i % G::kLongProducts != G::kLongProducts - 1) return;  // the other product comes later
    const int tile = i / G::kLongProducts;
    if constexpr (G::kSwap) {
      const StoreGroup<G, Output> store = {output, end_m};
      const WarpRows rows;
#pragma unroll
      for (int column = 0; column < G::kOutputColumns; ++column) {
        SumGroup<G> group;
        take_group<G>(group, sums, {tile, column});
        store(group, first_long(corner) + rows.first(tile), first_wide(corner) + column * 8);
      }
      return;
    }
    unsigned char* staging =
        smem + SharedLayout<G>::kStaging + static_cast<int>(threadIdx.x) / 32 * G::kStagingBytes;
    const int first_m = first_long(corner) + tile * 64;
    if constexpr (G::kStoreBy == StoreBy::tma) {
      StoreBoxes<G, Output>{output, end_m, shared_address(staging)}(sums, tile, first_m,
                                                                    first_wide(corner));
      return;
    }
    StoreRows<G, Output>{output, end_m, staging}(sums, tile, first_m, first_wide(corner));
  }

  /// The share of a block that adds up with others.
  __device__ __forceinline__ void store_sums(const Accumulators<G>& sums, const ClusterSum<G>& sum,
                                             const Corner& corner) const {
    typename ClusterSum<G>::Share own = {};
    if (live) {
      cluster_wait();  // all blocks run
      sum.send(sums, own);
      sum.wait();
    }
    unsigned char* received = smem + SharedLayout<G>::kReceived;
    if constexpr (G::kSplitK > 1) {
      const PartialTile<G> tile = partial_tile<G>(output.partial, work.partial, rank);
      sum.add_up(received, own, [&](const SumGroup<G>& group, Group at) {
        if (!live) return;
#pragma unroll
        for (int product = 0; product < G::kProducts; ++product) {
          const Group to = G::accumulators_of(at, product);
          tile.store(group[product], {warpgroup * G::kLongTiles + to.tile, to.column});
        }
      });
    } else {
      const StoreGroup<G, Output> store = {output, end_m};
      const WarpRows rows;
      sum.add_up(received, own, [&](const SumGroup<G>& group, Group at) {
        store(group, first_long(corner) + rows.first(at.tile), first_wide(corner) + at.column * 8);
      });
    }
  }
};

/// The sums of a cluster's blocks.
template <typename G>
__device__ __forceinline__ ClusterSum<G> cluster_sum(unsigned stages, const ClusterPlace& block,
                                                     int rank) {
  using Layout = SharedLayout<G>;
  return {stages + Layout::kReceived, stages + Layout::kSumBarrier, block.k, rank, G::kLayer};
}

template <typename G, typename Tiles, typename Output>
__device__ __forceinline__ void consume_all(const Tiles& tiles, const ClusterPlace& block,
                                            const Ring<G::kStages>& ring, unsigned stages,
                                            unsigned char* smem, const Output& output) {
  // A block that stays finds the next tile's corner while the tensor cores are at work; with
  // pingpong, before a warpgroup's turn.
  constexpr bool kLateCorner = G::kPersistent && G::kMode != Mode::pingpong;
  const ConsumerPlace<G> consumer(block);
  RingPlace<G::kStages> place;
  const auto turns = consumer.turns();
  turns.start();
  bool mine = G::kMode != Mode::pingpong || consumer.warpgroup == 0;
  // A block with one tile rehearses: without slices and without rows to store it fetches the
  // instructions of the way out while the first slice is on its way. A launch finds them in no
  // cache, and at its end nothing hides that (0.3 us).
  bool live = G::kPersistent;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count;) {
    const Work work = tiles.at(index);
    if (G::kMode == Mode::pingpong && !mine) {
      place.skip(work.slices.count);
      mine = true;
      ++index;
      continue;
    }
    const WayOut<G, Output> way_out = {
        output, smem, work, consumer.rank, consumer.in_tile, live ? tiles.end_m(work) : 0, live};
    Corner corner = kLateCorner ? Corner{} : tiles.corner(work);
    const auto find_corner = [&] {
      if constexpr (kLateCorner) corner = tiles.corner(work);
    };
    Accumulators<G> sums;  // here, so that the last tile's are dead
    const auto finish = [&](int i) {
      if (i == 0 && live) output.transform.wait();
      if constexpr (G::kClusterK == 1) way_out.store_rows(sums, i, corner);
    };
    consume<G>(sums, ring, place, stages, consumer.long_offset(), live ? work.slices.count : 0,
               consumer.release_to, turns, find_corner, finish);
    if constexpr (G::kMode == Mode::pingpong) mine = false;
    if constexpr (G::kClusterK > 1) {
      way_out.store_sums(sums, cluster_sum<G>(stages, block, consumer.rank), corner);
    }
    // Leave this line as it is. With `if (live) { ...; ++index; }` around what stands before it,
    // ptxas 13.0 left out the last turn of the loop, though the PTX was right: clusters hung, or
    // stored nothing. The GPU test ShippedKernels finds that (docs/kernels/change-the-mainloop.md).
    if (live) ++index;
    live = true;
  }
  if constexpr (G::kStoreBy == StoreBy::tma) tma_store_wait_read<0>();
}

/// What a block does. `problem` is the tile source's.
template <typename G, typename Tiles, typename OperandA, typename OperandB, typename Output>
__device__ __forceinline__ void gemm_block(const typename Tiles::Problem& problem,
                                           const OperandA& a, const OperandB& b,
                                           const Output& output) {
  static_assert(G::kProducts == Output::Transform::kProducts,
                "a transform takes the sums of all products of an output");
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned stages = shared_address(smem);
  const Ring<G::kStages> ring = {stages + SharedLayout<G>::kBarriers};
  const bool is_producer = static_cast<int>(threadIdx.x) >= G::kConsumerThreads;
  // Barriers are set up by a thread that has nothing else to do yet.
  if (threadIdx.x == 0) {
    ring.init(G::kSharers * (G::kClusterM + G::kClusterN - 1));
    if constexpr (G::kClusterK > 1) mbarrier_init(stages + SharedLayout<G>::kSumBarrier, 1);
    fence_mbarrier_init();
  } else if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
    a.prefetch();
    b.prefetch();
    if constexpr (G::kStoreBy == StoreBy::tma) tma_prefetch_map(*output.c_map);
  }
  const ClusterPlace block = cluster_place(G::kCluster > 1 ? static_cast<int>(cluster_rank()) : 0,
                                           G::kClusterM, G::kClusterN);
  const Tiles tiles(problem, block, static_cast<int>(blockIdx.x) / G::kCluster,
                    static_cast<int>(gridDim.x) / G::kCluster);
  if constexpr (G::kSplitK > 1 || G::kStream) grid_release();
  meet<G>();

  if (is_producer) {
    if constexpr (G::kConsumers > 1) registers_shrink<G::kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      produce_all<G>(tiles, ring, stages,
                     OperandCopies<G, OperandA, OperandB>{a, b, copy_share<G, Side::m>(block),
                                                          copy_share<G, Side::n>(block)});
    }
    __syncwarp();
    if constexpr (G::kClusterK > 1) cluster_wait();
  }
  // Keeps the compiler from making one branch of two, with the producer's code behind the
  // consumers': the first copies would wait until it has been fetched from memory.
  if constexpr (!G::kPersistent) __syncwarp();
  if (!is_producer) {
    if constexpr (G::kConsumers > 1) registers_grow<G::kConsumerRegisters>();
    consume_all<G>(tiles, block, ring, stages, smem, output);
  }
  leave<G>();
}
