#pragma once

// The body of a block-scaled product with experts: scaled_gemm_block (fp8/block.cuh) with the tiles
// of the experts (experts/tiles.cuh).

#include "common/experts/operands.cuh"
#include "common/fp8/block.cuh"

/// Where what lies behind the table of the experts' tiles, behind the scales, begins.
template <typename G>
__device__ __forceinline__ int scaled_table_end(int num_experts) {
  return cdiv(kScalesEnd<G> + 8 * (num_experts + 1), 128) * 128;
}

/// With B's of the work's expert; `scales` has those of the first.
template <typename G>
__device__ __forceinline__ Scales scales_of(const ExpertTiles<G>& tiles, const Work& work,
                                            Scales scales) {
  scales.b += static_cast<long long>(tiles.expert(work)) * scales.b_rows * scales.b_pitch;
  return scales;
}

/// As begin_scales (fp8/block.cuh); `scales` has those of the first expert.
template <typename Low, typename G>
__device__ __forceinline__ void begin_scales(TileScales<Low>& of_tile, const ExpertTiles<G>& tiles,
                                             const Work& work, const Corner& corner,
                                             const Scales& scales, int first_slice) {
  if constexpr (!G::kScalesAhead) {
    of_tile.first_a = corner.m % 4;
    of_tile.begin(scales_of(tiles, work, scales), corner.n / G::kProducts, first_slice);
  }
}

/// G with tiles of kRows rows, alone.
template <typename G, int kRows>
struct ScaledRows : G {
  static constexpr int kBlockM = kRows;
  static constexpr int kClusterM = 1, kClusterN = 1;
};

/// The same in G's stages and clusters.
template <typename G, int kRows>
struct LowScaledTile : Geometry<ScaledRows<G, kRows>, G::kProducts> {
  static constexpr int kStageBytes = G::kStageBytes, kRingBytes = G::kRingBytes;
  static constexpr int kClusterM = G::kClusterM, kClusterN = G::kClusterN;
  static constexpr int kLayer = G::kLayer, kCluster = G::kCluster;
};

/// Calls `with(LowScaledTile)`, of `height` rows.
template <typename G, int kRows = kLowest<G>, typename With>
__device__ __forceinline__ void with_scaled_height(int height, const With& with) {
  if constexpr (kRows < G::kBlockM) {
    if (height > kRows) {
      with_scaled_height<G, kRows + 8>(height, with);
      return;
    }
  }
  with(LowScaledTile<G, kRows>{});
}

/// As consume_all_scaled, with tiles as high as the experts' tokens ask for. Each height has a main
/// loop of its own, and a tile is stored before the next begins.
template <typename G, typename Output>
__device__ __forceinline__ void consume_heights(const ExpertTiles<G>& tiles,
                                                const ClusterPlace& block,
                                                const Ring<G::kStages>& ring, unsigned stages,
                                                unsigned char* smem, const Scales& scales,
                                                const Output& output) {
  static_assert(G::kSwap && G::kPersistent, "tokens are the wide side, and blocks stay");
  const ConsumerPlace<G> consumer(block, 32);
  if constexpr (G::kInTurn) Turns{consumer.warpgroup}.start();
  RingPlace<G::kStages> place;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const Work work = tiles.at(index);
    const Corner corner = tiles.corner(work);
    const int end_m = tiles.end_m(work);
    const bool backwards = index % 2 != 0;
    // As for the warpgroup in ConsumerPlace: a warp agrees on it.
    const int height = __shfl_sync(~0u, tiles.height(work), 0);
    with_scaled_height<G>(height, [&](auto low) {
      using Low = decltype(low);
      const WayOut<Low, Output> way_out = {output, smem, work, consumer.rank, consumer.warpgroup,
                                           end_m,  true};
      TileScales<Low> of_tile;
      begin_scales(of_tile, tiles, work, corner, scales, slice_at<G>(work, 0, backwards));
      Accumulators<Low> sums;
      const auto finish = [&](int i) { way_out.store_rows(sums, i, corner); };
      const LoopHooks hooks = {[] {}, [] {}, finish};
      ScaledLoop<Low>{ring,
                      place,
                      stages,
                      smem,
                      consumer.warpgroup,
                      of_tile,
                      work,
                      work.slices.count,
                      backwards,
                      consumer.release_to}(sums, hooks);
#pragma unroll
      for (int i = ScaledLoop<Low>::kFinishEarly ? G::kLongTiles - 1 : 0; i < G::kLongTiles; ++i) {
        finish(i);
      }
    });
  }
}

/// As produce_all (wgmma/block.cuh). A tile's last rows of A, and scales, may be the next expert's.
template <typename G, typename Weights>
__device__ __forceinline__ void produce_scaled_experts(
    const ExpertTiles<G>& tiles, const ClusterPlace& block, const Ring<G::kStages>& ring,
    unsigned stages, const Weights& weights, CopiedTokens<G> tokens, const TensorMap& a_scales) {
  constexpr int kWeightBytes = Weights::kSliceBytes;
  constexpr int kBoxRows = G::kScaleRows / G::kScaleBoxes;
  const unsigned to_tokens = stages + (G::kSwap ? kWeightBytes : 0);
  const unsigned to_weights = stages + (G::kSwap ? 0 : G::kBlockM * 128);
  const CopyShare token_share = copy_share<G, Side::m>(block);
  const CopyShare weight_share = copy_share<G, Side::n>(block);
  RingPlace<G::kStages> place;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const Work work = tiles.at(index);
    const Corner corner = tiles.corner(work);
    const int expert = tiles.expert(work);
    tokens.begin(corner.m, 0, tiles.height(work));
#pragma unroll 1
    for (int i = 0; i < work.slices.count; ++i, place.advance()) {
      ring.wait_empty(place);
      const int slice = slice_at<G>(work, i, index % 2 != 0);
      const unsigned barrier = ring.full(place.stage), offset = place.stage * G::kStageBytes;
      mbarrier_arrive_expect_bytes(barrier,
                                   kWeightBytes + tokens.slice_bytes() + G::kScaleRows * 4);
      weights.copy_slice(weight_share, to_weights + offset, barrier, expert, corner.n, slice * 128);
      tokens.copy_slice(token_share, to_tokens + offset, barrier, slice * 128);
#pragma unroll
      for (int box = 0; box < G::kScaleBoxes; ++box) {
        tma_load(stages + scales_offset<G>(place.stage) + box * kBoxRows * 4, a_scales, barrier,
                 slice, corner.m / 4 * 4 + box * kBoxRows);
      }
    }
  }
}

/// With kScalesAhead: multiplies the scales of the slices that produce_scaled_experts copies, by
/// one warp.
template <typename G>
__device__ __forceinline__ void multiply_scales(const ExpertTiles<G>& tiles,
                                                const Ring<G::kStages>& ring, unsigned stages,
                                                unsigned char* smem, const Scales& scales) {
  const Ring<G::kStages> products = products_ring<G>(stages);
  RingPlace<G::kStages> place;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const Work work = tiles.at(index);
    const Corner corner = tiles.corner(work);
    const auto slice_of = [&](int i) { return slice_at<G>(work, i, index % 2 != 0); };
    WeightScales<G> weights;
    weights.begin(scales_of(tiles, work, scales), corner.n, slice_of(0));
#pragma unroll 1
    for (int i = 0; i < work.slices.count; ++i, place.advance()) {
      const float of_b = weights.next[0];
      weights.fetch(slice_of(smaller(i + 1, work.slices.count - 1)));
      ring.wait_full(place);
      products.wait_empty(place);
      put_products<G>(smem + scales_offset<G>(place.stage), corner.m % 4, of_b);
      mbarrier_arrive(products.full(place.stage));
    }
  }
}

/// Which of so many tiles a block that stays takes: `first`, and every `step`th behind.
struct TileRun {
  int first, step;
};

/// An SM takes kRuns blocks, one after the other. The first has every other of the SM's tiles, the
/// next every other of those that are left, and so on: where an SM is ahead, its short runs begin
/// earlier, and all end at about the same time.
template <typename G>
__device__ __forceinline__ TileRun run_of_block() {
  const int cluster = static_cast<int>(blockIdx.x) / G::kCluster;
  const int clusters = static_cast<int>(gridDim.x) / G::kCluster;
  if constexpr (requires { G::kRuns; }) {
    const int at_once = clusters / G::kRuns, run = cluster / at_once;
    const int before = (1 << run) - 1;  // of 2^run tiles of an SM
    return {before * at_once + cluster % at_once,
            (run == G::kRuns - 1 ? 1 << run : 2 << run) * at_once};
  } else {
    return {cluster, clusters};
  }
}

/// C[i] = A[i] @ B[e]^T for the rows i of each expert e, starts[e] to starts[e + 1]. `k` counts
/// columns of 16 bits, half of K. Weights are ExpertWeights.
template <typename G, typename Weights, typename Output>
__device__ __forceinline__ void scaled_expert_block(const int* starts, int num_experts, int n,
                                                    int k, const CopiedTokens<G>& a,
                                                    const Weights& b, const Scales& scales,
                                                    const Output& output) {
  static_assert(G::kClusterK == 1 && G::kSplitK == 1, "a block makes whole sums");
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned stages = shared_address(smem);
  const Ring<G::kStages> ring = {stages + SharedLayout<G>::kBarriers};
  int* const rows = reinterpret_cast<int*>(smem + kScalesEnd<G>);
  int* const first_tile = rows + num_experts + 1;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const bool is_producer = static_cast<int>(threadIdx.x) >= G::kConsumerThreads;
  if (threadIdx.x == 0) {
    ring.init(4 * G::kSharers * (G::kClusterM + G::kClusterN - 1));  // warps
    if constexpr (G::kScalesAhead) init_products<G>(products_ring<G>(stages));
    fence_mbarrier_init();
  } else if (warp == G::kConsumerThreads / 32) {
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      a.prefetch();
      b.prefetch();
      tma_prefetch_map(*scales.a_map);
    }
    __syncwarp();
    make_expert_table<G>(starts, num_experts, rows, first_tile);
  }
  const ClusterPlace block = cluster_place(G::kCluster > 1 ? static_cast<int>(cluster_rank()) : 0,
                                           G::kClusterM, G::kClusterN);
  meet<G>();
  const TileRun run = run_of_block<G>();
  const ExpertTiles<G> tiles({{rows, first_tile, num_experts}, n, k}, block, run.first, run.step);

  if (is_producer) {
    if constexpr (G::kConsumers > 1) registers_shrink<G::kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      produce_scaled_experts<G>(tiles, block, ring, stages, b, a, *scales.a_map);
    } else if (G::kScalesAhead && warp == G::kConsumerThreads / 32 + 1) {
      multiply_scales<G>(tiles, ring, stages, smem, scales);
    }
    __syncwarp();
  }
  if constexpr (!G::kPersistent) __syncwarp();  // as in gemm_block
  if (!is_producer) {
    if constexpr (G::kConsumers > 1) registers_grow<G::kConsumerRegisters>();
    if constexpr (G::kHeights > 1) {
      consume_heights<G>(tiles, block, ring, stages, smem, scales, output);
    } else {
      consume_all_scaled<G>(tiles, block, ring, stages, smem, scales, output);
    }
  }
  leave<G>();
}
