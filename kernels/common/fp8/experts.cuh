#pragma once

// The body of a block-scaled product with experts: scaled_gemm_block (fp8/block.cuh) with the tiles
// of the experts (experts/tiles.cuh).

#include "common/experts/operands.cuh"
#include "common/fp8/block.cuh"

/// Where the table of the experts' tiles lies in shared memory, behind the scales.
template <typename G>
constexpr int kScaledTableOffset = scales_offset<G>(G::kStages);

/// Where what lies behind that table begins.
template <typename G>
__device__ __forceinline__ int scaled_table_end(int num_experts) {
  return cdiv(kScaledTableOffset<G> + 8 * (num_experts + 1), 128) * 128;
}

/// As begin_scales (fp8/block.cuh); `scales` has those of the first expert.
template <typename G>
__device__ __forceinline__ void begin_scales(TileScales<G>& of_tile, const ExpertTiles<G>& tiles,
                                             const Work& work, const Corner& corner,
                                             const Scales& scales, int first_slice) {
  Scales own = scales;
  own.b += static_cast<long long>(tiles.expert(work)) * scales.b_rows * scales.b_pitch;
  of_tile.first_a = corner.m % 4;
  of_tile.begin(own, corner.n / G::kProducts, first_slice);
}

/// As ScaledCopies. A tile's last rows of A may be the next expert's.
template <typename G>
struct ScaledExpertCopies {
  using Weights = ExpertWeights<G>;
  static constexpr int kBytesA = Boxes<G, Side::m>::kSliceBytes;
  static constexpr int kBytes = G::kStageBytes + (G::kBlockM + G::kSpareScales) * 4;

  const ExpertTiles<G>& tiles;
  const Boxes<G, Side::m>& a;
  const Weights& b;
  const TensorMap& a_scales;
  CopyShare a_share, b_share;
  unsigned stages;
  int expert = 0;

  __device__ __forceinline__ int at(const Work& work, int i, bool backwards) {
    if (i == 0) expert = tiles.expert(work);  // a search, so once a tile
    return slice_at<G>(work, i, backwards);
  }
  __device__ __forceinline__ void copy(const Stage& stage, const Corner& corner, int at) const {
    b.copy_slice(b_share, stage.address + (G::kSwap ? 0 : kBytesA), stage.barrier, expert, corner.n,
                 at * 128);
    a.copy_slice(a_share, stage.address + (G::kSwap ? Weights::kSliceBytes : 0), stage.barrier,
                 corner.m, at * 128);
#pragma unroll
    for (int box = 0; box < G::kScaleBoxes; ++box) {
      constexpr int kRows = (G::kBlockM + G::kSpareScales) / G::kScaleBoxes;
      tma_load(stages + scales_offset<G>(stage.index) + box * kRows * 4, a_scales, stage.barrier,
               at, corner.m / 4 * 4 + box * kRows);
    }
  }
  __device__ __forceinline__ void end() const {}
};

/// C[i] = A[i] @ B[e]^T for the rows i of each expert e, starts[e] to starts[e + 1]. `k` counts
/// columns of 16 bits, half of K.
template <typename G, typename Output>
__device__ __forceinline__ void scaled_expert_block(const int* starts, int num_experts, int n,
                                                    int k, const Boxes<G, Side::m>& a,
                                                    const ExpertWeights<G>& b, const Scales& scales,
                                                    const Output& output) {
  static_assert(G::kClusterK == 1 && G::kSplitK == 1, "a block makes whole sums");
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned stages = shared_address(smem);
  const Ring<G::kStages> ring = {stages + SharedLayout<G>::kBarriers};
  int* const rows = reinterpret_cast<int*>(smem + kScaledTableOffset<G>);
  int* const first_tile = rows + num_experts + 1;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const bool is_producer = static_cast<int>(threadIdx.x) >= G::kConsumerThreads;
  if (threadIdx.x == 0) {
    ring.init(4 * G::kSharers * (G::kClusterM + G::kClusterN - 1));  // warps
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
  const ExpertTiles<G> tiles({{rows, first_tile, num_experts}, n, k}, block,
                             static_cast<int>(blockIdx.x) / G::kCluster,
                             static_cast<int>(gridDim.x) / G::kCluster);

  if (is_producer) {
    if constexpr (G::kConsumers > 1) registers_shrink<G::kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      produce_all<G>(
          tiles, ring, stages,
          ScaledExpertCopies<G>{tiles, a, b, *scales.a_map, copy_share<G, Side::m>(block),
                                copy_share<G, Side::n>(block), stages});
    }
    __syncwarp();
  }
  if constexpr (!G::kPersistent) __syncwarp();  // as in gemm_block
  if (!is_producer) {
    if constexpr (G::kConsumers > 1) registers_grow<G::kConsumerRegisters>();
    consume_all_scaled<G>(tiles, block, ring, stages, smem, scales, output);
  }
  leave<G>();
}
