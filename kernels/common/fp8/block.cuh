#pragma once

// The body of a block-scaled product of e4m3: gemm_block (wgmma/block.cuh) with the main loop of
// fp8/loop.cuh.

#include "common/fp8/loop.cuh"

/// The copies of two operands' slices, and of A's scales (produce_all, wgmma/block.cuh).
template <typename G>
struct ScaledCopies {
  static constexpr int kBytesA = Boxes<G, Side::m>::kSliceBytes;
  static constexpr int kBytesB = Boxes<G, Side::n>::kSliceBytes;
  static constexpr int kBytes = G::kStageBytes + G::kBlockM * 4;

  const Boxes<G, Side::m>& a;
  const Boxes<G, Side::n>& b;
  const TensorMap& a_scales;
  CopyShare a_share, b_share;
  unsigned stages;

  __device__ __forceinline__ int at(const Work& work, int i, bool backwards) const {
    return slice_at<G>(work, i, backwards);
  }
  __device__ __forceinline__ void copy(const Stage& stage, const Corner& corner, int at) const {
    a.copy_slice(a_share, stage.address + (G::kSwap ? kBytesB : 0), stage.barrier, corner.m,
                 at * 128);
    b.copy_slice(b_share, stage.address + (G::kSwap ? 0 : kBytesA), stage.barrier, corner.n,
                 at * 128);
    tma_load(stages + scales_offset<G>(stage.index), a_scales, stage.barrier, at, corner.m);
  }
  __device__ __forceinline__ void end() const {}
};

/// Begins to read the scales of the work's tile.
template <typename G, typename Tiles>
__device__ __forceinline__ void begin_scales(TileScales<G>& of_tile, const Tiles&, const Work&,
                                             const Corner& corner, const Scales& scales,
                                             int first_slice) {
  of_tile.begin(scales, corner.n, first_slice);
}

/// As consume_all (wgmma/block.cuh). A block that stays begins its next tile before it stores one.
template <typename G, typename Tiles, typename Output>
__device__ __forceinline__ void consume_all_scaled(const Tiles& tiles, const ClusterPlace& block,
                                                   const Ring<G::kStages>& ring, unsigned stages,
                                                   unsigned char* smem, const Scales& scales,
                                                   const Output& output) {
  constexpr int kEarlyRows = ScaledLoop<G>::kFinishEarly ? G::kLongTiles - 1 : 0;
  // Each warp lets go of a stage: another may not have read its rows' scales yet.
  const ConsumerPlace<G> consumer(block, 32);
  const int count = tiles.count();
  if constexpr (G::kInTurn) Turns{consumer.warpgroup}.start();
  RingPlace<G::kStages> place;
  Work work = {};
  Corner corner = {};
  TileScales<G> of_tile;
  Work next_work = {};
  Corner next_corner = {};
  const auto find_next = [&](int index) {
    next_work = tiles.at(index);
    next_corner = tiles.corner(next_work);
  };
  const auto begin = [&](int index) {
    if (!G::kLooksAhead || index == 0) find_next(index);
    work = next_work;
    corner = next_corner;
    begin_scales(of_tile, tiles, work, corner, scales, slice_at<G>(work, 0, index % 2 != 0));
  };
  Accumulators<G> sums;
  Work stored = {};  // the one that `sums` are of
  Corner stored_corner = {};
  const auto store = [&](const Work& of, const Corner& at, bool live, int first, int end) {
    const WayOut<G, Output> way_out = {
        output, smem, of, consumer.rank, consumer.warpgroup, live ? tiles.end_m(of) : 0, live};
    if constexpr (G::kClusterK > 1) {
      way_out.store_sums(sums, cluster_sum<G>(stages, block, consumer.rank), at);
    } else {
#pragma unroll
      for (int i = 0; i < G::kLongTiles; ++i) {
        if (i >= first && i < end) way_out.store_rows(sums, i, at);
      }
    }
  };
  if (count > 0) begin(0);
#pragma unroll 1
  for (int index = G::kPersistent ? 0 : -1; index < count; ++index) {  // -1: the rehearsal
    const auto store_last = [&] {
      if (G::kPersistent && index > 0) {
        store(stored, stored_corner, true, kEarlyRows, G::kLongTiles);
      }
    };
    const auto find_following = [&] {
      if constexpr (G::kLooksAhead) find_next(smaller(index + 1, count - 1));
    };
    const auto finish = [&](int i) { store(work, corner, true, i, i + 1); };
    const LoopHooks hooks = {store_last, find_following, finish};
    ScaledLoop<G>{ring,
                  place,
                  stages,
                  smem,
                  consumer.warpgroup,
                  of_tile,
                  work,
                  index < 0 ? 0 : work.slices.count,
                  index % 2 != 0,
                  consumer.release_to}(sums, hooks);
    stored = work;
    stored_corner = corner;
    if (G::kPersistent && index + 1 < count) {
      begin(index + 1);  // the sums leave meanwhile
    } else {
      store(stored, stored_corner, index >= 0, index < 0 ? 0 : kEarlyRows, G::kLongTiles);
    }
  }
  if constexpr (G::kStoreBy == StoreBy::tma) tma_store_wait_read<0>();
}

/// What a block does. `problem` is the tile source's, with half of K.
template <typename G, typename Tiles, typename Output>
__device__ __forceinline__ void scaled_gemm_block(const typename Tiles::Problem& problem,
                                                  const Boxes<G, Side::m>& a,
                                                  const Boxes<G, Side::n>& b, const Scales& scales,
                                                  const Output& output) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned stages = shared_address(smem);
  const Ring<G::kStages> ring = {stages + SharedLayout<G>::kBarriers};
  const bool is_producer = static_cast<int>(threadIdx.x) >= G::kConsumerThreads;
  if (threadIdx.x == 0) {
    ring.init(4 * G::kSharers * (G::kClusterM + G::kClusterN - 1));  // warps
    if constexpr (G::kClusterK > 1) mbarrier_init(stages + SharedLayout<G>::kSumBarrier, 1);
    fence_mbarrier_init();
  } else if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
    a.prefetch();
    b.prefetch();
    tma_prefetch_map(*scales.a_map);
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
                     ScaledCopies<G>{a, b, *scales.a_map, copy_share<G, Side::m>(block),
                                     copy_share<G, Side::n>(block), stages});
    }
    __syncwarp();
    if constexpr (G::kClusterK > 1) cluster_wait();
  }
  if constexpr (!G::kPersistent) __syncwarp();
  if (!is_producer) {
    if constexpr (G::kConsumers > 1) registers_grow<G::kConsumerRegisters>();
    consume_all_scaled<G>(tiles, block, ring, stages, smem, scales, output);
  }
  leave<G>();
}
