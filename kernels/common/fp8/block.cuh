#pragma once

// The body of a block-scaled product of e4m3: gemm_block (wgmma/block.cuh) with the main loop of
// fp8/loop.cuh.

#include "common/fp8/loop.cuh"

template <typename G, typename Tiles>
__device__ __forceinline__ void produce_all_scaled(const Tiles& tiles, const ClusterPlace& block,
                                                   const Ring<G::kStages>& ring, unsigned stages,
                                                   const Boxes<G, Side::m>& a_operand,
                                                   const Boxes<G, Side::n>& b_operand,
                                                   const Scales& scales) {
  const OperandShare<Boxes<G, Side::m>> a = {a_operand, copy_share<G, Side::m>(block)};
  const OperandShare<Boxes<G, Side::n>> b = {b_operand, copy_share<G, Side::n>(block)};
  RingPlace<G::kStages> place;
  bool backwards = false;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const Work work = tiles.at(index);
    produce_scaled<G>(ring, place, stages, a, b, *scales.a_map, tiles.corner(work), work,
                      backwards);
    backwards = !backwards;
  }
}

/// As consume_all (wgmma/block.cuh). A block that stays begins its next tile before it stores one.
template <typename G, typename Tiles, typename Output>
__device__ __forceinline__ void consume_all_scaled(const Tiles& tiles, const ClusterPlace& block,
                                                   const Ring<G::kStages>& ring, unsigned stages,
                                                   unsigned char* smem, const Scales& scales,
                                                   const Output& output) {
  constexpr int kEarlyRows = ScaledLoop<G>::kFinishEarly ? G::kLongTiles - 1 : 0;
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0);
  const int rank = block.m * G::kClusterN + block.n;  // in its layer
  // By each warp: another may not have read its rows' scales yet.
  const int release_to = release_target<G>(block, static_cast<int>(threadIdx.x) % 32);
  const int count = tiles.count();
  if constexpr (G::kInTurn) Turns{warpgroup}.start();
  RingPlace<G::kStages> place;
  Work work = {};
  Corner corner = {};
  TileScales<G> of_tile;
  const auto begin = [&](int index) {
    work = tiles.at(index);
    corner = tiles.corner(work);
    of_tile.begin(scales, corner.n, slice_at<G>(work, 0, index % 2 != 0));
  };
  Accumulators<G> sums;
  Work stored = {};  // the one that `sums` are of
  Corner stored_corner = {};
  const auto store = [&](const Work& of, const Corner& at, bool live, int first, int end) {
    const WayOut<G, Output> way_out = {
        output, smem, of, rank, warpgroup, live ? tiles.end_m(of) : 0, live};
    if constexpr (G::kClusterK > 1) {
      using Layout = SharedLayout<G>;
      way_out.store_sums(
          sums,
          {stages + Layout::kReceived, stages + Layout::kSumBarrier, block.k, rank, G::kLayer}, at);
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
    const auto meanwhile = [&] {
      if constexpr (G::kPersistent) {
        if (index > 0) store(stored, stored_corner, true, kEarlyRows, G::kLongTiles);
      }
    };
    const auto finish = [&](int i) { store(work, corner, true, i, i + 1); };
    ScaledLoop<G>{ring,           place,     stages, smem,
                  warpgroup,      of_tile,   work,   index < 0 ? 0 : work.slices.count,
                  index % 2 != 0, release_to}(sums, meanwhile, finish);
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
  if constexpr (G::kLayer > 1) {  // copies reach other blocks: their barriers must be there
    cluster_arrive_relaxed();
    __syncthreads();
    cluster_wait();
  } else {
    __syncthreads();
  }
  if constexpr (G::kClusterK > 1) cluster_arrive_relaxed();  // waited for before anything is sent

  if (is_producer) {
    if constexpr (G::kConsumers > 1) registers_shrink<G::kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      produce_all_scaled<G>(tiles, block, ring, stages, a, b, scales);
    }
    __syncwarp();
    if constexpr (G::kClusterK > 1) cluster_wait();
  }
  if constexpr (!G::kPersistent) __syncwarp();
  if (!is_producer) {
    if constexpr (G::kConsumers > 1) registers_grow<G::kConsumerRegisters>();
    consume_all_scaled<G>(tiles, block, ring, stages, smem, scales, output);
  }
  if constexpr (G::kLayer >
                1) {  // other blocks arrive at this one's barriers: stay until they have
    cluster_arrive();
    cluster_wait();
  }
}
