#pragma once

// What a block of a product with experts does: gemm_block (wgmma/block.cuh) with a table of the
// experts' tiles, and a producer that asks for weights before it waits for the tokens. Blocks
// that stay and have tokens on the wide side have consumers of their own, too (consume.cuh).

#include "common/experts/consume.cuh"
#include "common/experts/operands.cuh"
#include "common/experts/tiles.cuh"
#include "common/wgmma/block.cuh"

/// Behind what gemm_block has in shared memory.
template <typename G>
constexpr int kExpertTableOffset = SharedLayout<G>::kEnd;

/// By one thread. As many slices of weights as there are stages are under way before the tokens are
/// waited for.
template <typename G, typename Weights, typename Tokens>
__device__ __forceinline__ void produce_experts(const ExpertTiles<G>& tiles,
                                                const ClusterPlace& block,
                                                const Ring<G::kStages>& ring, unsigned stages,
                                                const Weights& weights, Tokens tokens) {
  constexpr int kTokenBytes = G::kPanels * G::kBlockM * 128;
  constexpr int kWeightBytes = Weights::kSliceBytes;
  static_assert(kTokenBytes + kWeightBytes == G::kStageBytes, "the operands fill a stage");
  const unsigned to_tokens = stages + (G::kSwap ? kWeightBytes : 0);
  const unsigned to_weights = stages + (G::kSwap ? 0 : kTokenBytes);
  const CopyShare token_share = copy_share<G, Side::m>(block);
  const CopyShare weight_share = copy_share<G, Side::n>(block);
  RingPlace<G::kStages> place;
  bool backwards = false;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const Work work = tiles.at(index);
    const Corner corner = tiles.corner(work);
    const int expert = tiles.expert(work);
    tokens.begin(corner.m, tiles.end_m(work), tiles.height(work));
    const auto column_of = [&](int slice) {
      return slice_at<G>(work, slice, backwards) * G::kBlockK;
    };
    const auto ask_for_weights = [&](int slice, const RingPlace<G::kStages>& at) {
      ring.wait_empty(at);
      mbarrier_arrive_expect_bytes(ring.full(at.stage), kWeightBytes + tokens.slice_bytes());
      weights.copy_slice(weight_share, to_weights + at.stage * G::kStageBytes, ring.full(at.stage),
                         expert, corner.n, column_of(slice));
    };
    const auto ask_for_tokens = [&](int slice, const RingPlace<G::kStages>& at) {
      tokens.copy_slice(token_share, to_tokens + at.stage * G::kStageBytes, ring.full(at.stage),
                        column_of(slice));
    };
    int slice = 0;
    if (index == 0) {
      const int ahead = smaller(work.slices.count, G::kStages);
      RingPlace<G::kStages> at = place;
#pragma unroll 1
      for (int early = 0; early < ahead; ++early, at.advance()) ask_for_weights(early, at);
      tokens.wait();
#pragma unroll 1
      for (; slice < ahead; ++slice, place.advance()) ask_for_tokens(slice, place);
    }
#pragma unroll 1
    for (; slice < work.slices.count; ++slice, place.advance()) {
      ask_for_weights(slice, place);
      ask_for_tokens(slice, place);
    }
    backwards = !backwards;
  }
}

/// Where the staging of consume_tokens begins.
template <typename G>
__device__ __forceinline__ int token_staging_offset(int num_experts) {
  return (kExpertTableOffset<G> + 8 * (num_experts + 1) + 127) / 128 * 128;
}

/// C[i] = A[i] @ B[e]^T for the rows i of each expert e, starts[e] to starts[e + 1]. `n` counts the
/// rows of B of all products of an output. Weights are ExpertWeights.
template <typename G, typename Weights, typename Tokens, typename Output>
__device__ __forceinline__ void expert_block(const int* starts, int num_experts, int n, int k,
                                             const Weights& weights, const Tokens& tokens,
                                             const Output& output) {
  static_assert(G::kProducts == Output::Transform::kProducts,
                "a transform takes the sums of all products of an output");
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned stages = shared_address(smem);
  const Ring<G::kStages> ring = {stages + SharedLayout<G>::kBarriers};
  int* const rows = reinterpret_cast<int*>(smem + kExpertTableOffset<G>);
  int* const first_tile = rows + num_experts + 1;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const bool is_producer = static_cast<int>(threadIdx.x) >= G::kConsumerThreads;
  if (threadIdx.x == 0) {
    ring.init(G::kSharers * (G::kClusterM + G::kClusterN - 1));
    if constexpr (G::kClusterK > 1) mbarrier_init(stages + SharedLayout<G>::kSumBarrier, 1);
    fence_mbarrier_init();
  } else if (warp == G::kConsumerThreads / 32) {
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      weights.prefetch();
      tokens.prefetch();
    }
    __syncwarp();
    make_expert_table<G>(starts, num_experts, rows, first_tile);
  }
  const ClusterPlace block = cluster_place(G::kCluster > 1 ? static_cast<int>(cluster_rank()) : 0,
                                           G::kClusterM, G::kClusterN);
  meet<G>();
  if constexpr (G::kSplitK > 1) grid_release();
  const ExpertTiles<G> tiles({{rows, first_tile, num_experts}, n, k}, block,
                             static_cast<int>(blockIdx.x) / G::kCluster,
                             static_cast<int>(gridDim.x) / G::kCluster);

  if (is_producer) {
    if constexpr (G::kConsumers > 1) registers_shrink<G::kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      produce_experts<G>(tiles, block, ring, stages, weights, tokens);
    }
    __syncwarp();
    if constexpr (G::kClusterK > 1) cluster_wait();
  }
  if constexpr (!G::kPersistent) __syncwarp();  // as in gemm_block
  if (!is_producer) {
    if constexpr (G::kConsumers > 1) registers_grow<G::kConsumerRegisters>();
    if constexpr (stores_tokens<G>()) {
      consume_tokens<G>(tiles, block, ring, stages, smem + token_staging_offset<G>(num_experts),
                        output);
    } else {
      consume_all<G>(tiles, block, ring, stages, smem, output);
    }
    if constexpr (G::kClusterK > 1) {
      if (tiles.count() == 0) cluster_wait();  // else they have waited
    }
  }
  leave<G>();
}
