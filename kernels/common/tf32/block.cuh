#pragma once

// The body of a kernel that multiplies floats as tf32 by wgmma, fp32 outputs. It is that of
// wgmma/block.cuh in its simplest form: a producer copies slices of two operands into a ring, one
// or two warpgroups multiply them, and each thread stores the sums it holds.
//
// To the main loop eight floats are sixteen elements of 16 bits: 32 bytes of a row, a step of
// wgmma. So what follows from the tunables (wgmma/geometry.cuh) is that of a product with twice as
// many columns. Only copies, which name a column, and the wgmma themselves know better.

#include "common/ptx/grid_dependency.cuh"
#include "common/ptx/setmaxnreg.cuh"
#include "common/ptx/wgmma_tf32.cuh"
#include "common/tf32/parts.cuh"
#include "common/wgmma/cluster_sum.cuh"
#include "common/wgmma/loop.cuh"
#include "common/wgmma/operand.cuh"
#include "common/wgmma/tile_source.cuh"

/// Columns of floats that a panel of 128 bytes has.
constexpr int kFloatColumns = 32;

/// Rows of one side out of a matrix in parts, [parts * rows, k]. Boxes have the tile's rows divided
/// by the blocks that share them, and kFloatColumns columns.
template <typename G, Side kSide>
struct PartBoxes {
  static constexpr int kRows = kSide == Side::m ? G::kBlockM : G::kBlockN;
  static constexpr int kSharedRows = kRows / sharers_of<G>(kSide);
  static constexpr int kSliceBytes = G::kPanels * kRows * 128;

  const TensorMap* map;
  int rows;

  /// By one thread, as Boxes does it. Beyond the rows of a part lie those of the next, for outputs
  /// that do not exist.
  __device__ __forceinline__ void copy_slice(const CopyShare& share, Part part, unsigned shared,
                                             unsigned barrier, int first_row, int slice) const {
    const int row = first_row + share.part * kSharedRows + (part == Part::small ? rows : 0);
#pragma unroll
    for (int panel = 0; panel < G::kPanels; ++panel) {
      copy_box<sharers_of<G>(kSide)>(
          *map, shared + (panel * kRows + share.part * kSharedRows) * 128, barrier, row,
          (slice * G::kPanels + panel) * kFloatColumns, share.blocks);
    }
  }
};

/// What lies in a block's dynamic shared memory, in this order: the ring's stages, what other
/// blocks of the cluster send, the ring's barriers and the barrier of what is sent.
template <typename G>
struct FloatLayout {
  static constexpr int kReceived = G::kRingBytes;
  static constexpr int kBarriers = kReceived + ClusterSum<G>::kBytes;
  static constexpr int kSumBarrier = kBarriers + Ring<G::kStages>::kBytes;
};

/// The producer's half, by one thread. B is there from the start, A is made by the launch ahead.
template <typename G, int kProducts, typename Tiles>
__device__ __forceinline__ void produce_floats(const Tiles& tiles, const ClusterPlace& block,
                                               const Products<kProducts>& products,
                                               const Ring<G::kStages>& ring, unsigned stages,
                                               const PartBoxes<G, Side::m>& a,
                                               const PartBoxes<G, Side::n>& b) {
  const CopyShare a_share = copy_share<G, Side::m>(block), b_share = copy_share<G, Side::n>(block);
  constexpr int kABytes = PartBoxes<G, Side::m>::kSliceBytes;
  constexpr int kBBytes = PartBoxes<G, Side::n>::kSliceBytes;
  constexpr int kAOffset = G::kSwap ? kBBytes : 0, kBOffset = G::kSwap ? 0 : kABytes;
  static_assert(kABytes + kBBytes == G::kStageBytes, "the operands fill a stage");
  RingPlace<G::kStages> place;
  bool backwards = false, waits = true;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index, backwards = !backwards) {
    const Work work = tiles.at(index);
    const Corner corner = tiles.corner(work);
#pragma unroll 1
    for (int i = 0; i < work.slices.count; ++i, place.advance()) {
      ring.wait_empty(place);
      const unsigned barrier = ring.full(place.stage);
      const unsigned stage = stages + place.stage * G::kStageBytes;
      const int slice = work.slices.first + i, of_k = products.of_k(slice, backwards);
      mbarrier_arrive_expect_bytes(barrier, G::kStageBytes);
      b.copy_slice(b_share, products.of_b(slice), stage + kBOffset, barrier, corner.n, of_k);
      if (waits) grid_wait();
      waits = false;
      a.copy_slice(a_share, products.of_a(slice), stage + kAOffset, barrier, corner.m, of_k);
    }
  }
  if (waits) grid_wait();  // the launch behind relies on it
}

/// Issues the wgmma that add steps kFirst to kEnd of a slice, eight columns each, to the sums.
template <typename G, int kFirst, int kEnd>
__device__ __forceinline__ void multiply_float_steps(Accumulators<G>& sums, unsigned long_rows,
                                                     unsigned wide_rows) {
#pragma unroll
  for (int step = kFirst; step < kEnd; ++step) {
    const int panel = step / 4, column = step % 4 * 2;
    const unsigned wide = wide_rows + panel * (G::kWide * 8) + column;
#pragma unroll
    for (int i = 0; i < G::kLongTiles; ++i) {
      const unsigned rows = long_rows + panel * (G::kLong * 8) + i * 512 + column;
      WgmmaTf32<G::kWide>::multiply(sums[i], panel_descriptor(rows), panel_descriptor(wide));
    }
  }
}

/// A warpgroup's half: consume of wgmma/loop.cuh for floats.
template <typename G, typename Turn>
__device__ __forceinline__ void consume_floats(Accumulators<G>& sums, const Ring<G::kStages>& ring,
                                               RingPlace<G::kStages>& place, unsigned stages,
                                               int in_tile, int count, int release_to,
                                               const Turn& turn) {
  const unsigned long_rows = panel_address(stages + in_tile * G::kLongTiles * 64 * 128);
  const unsigned wide_rows = panel_address(stages + G::kPanels * G::kLong * 128);
#pragma unroll
  for (int i = 0; i < G::kLongTiles; ++i) {
#pragma unroll
    for (int j = 0; j < G::kWide / 2; ++j) sums[i][j] = 0;
  }
  constexpr int kSteps = G::kPanels * 4;
  turn.take();
  int previous = -1;
  bool full = false;  // the stage at `place`, for all that is known
#pragma unroll 1
  for (int slice = 0; slice < count; ++slice) {
    if (!full) ring.wait_full(place);
    if (slice + 1 == count) turn.pass();
    wgmma_fence();
    const unsigned offset = static_cast<unsigned>(place.stage * (G::kStageBytes / 16));
    multiply_float_steps<G, 0, kSteps / 2>(sums, long_rows + offset, wide_rows + offset);
    wgmma_commit();
    wgmma_wait<1>();
    if (previous >= 0) release<G>(ring, previous, release_to);
    previous = place.stage;
    place.advance();
    full = ring.is_full(place);
    multiply_float_steps<G, kSteps / 2, kSteps>(sums, long_rows + offset, wide_rows + offset);
    wgmma_commit();
  }
  if (count == 0) turn.pass();
  wgmma_wait<0>();
  if (previous >= 0) release<G>(ring, previous, release_to);
#pragma unroll
  for (int i = 0; i < G::kLongTiles; ++i) pin(sums[i]);
}

/// Stores four sums of a thread, of 8 columns: `row` is the first of the warp's 16 rows on the long
/// side, `col` the first of the 8 on the wide side. Either way a warp's store fills sectors of 32
/// bytes. n is even.
template <typename G, typename Output>
struct StoreFloats {
  const Output& output;
  int end_m;

  __device__ __forceinline__ void operator()(const SumGroup<G>& group, int row, int col) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto& transform = output.transform;
    const int at_wide = col + lane % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at_long = row + half * 8 + lane / 4;
      float y[2];
      if constexpr (G::kSwap) {
        const auto column = transform.column(at_long);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          y[e] = transformed<G>(group, half * 2 + e, transform, transform.row(at_wide + e), column);
          if (at_wide + e < end_m && at_long < output.n) *at(at_wide + e, at_long) = y[e];
        }
      } else {
        const auto of_row = transform.row(at_long);
        decltype(transform.column(0)) of_columns[2];
        transform.columns(at_wide, of_columns);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          y[e] = transformed<G>(group, half * 2 + e, transform, of_row, of_columns[e]);
        }
        struct alignas(8) Pair {
          float of[2];
        };
        if (at_long < end_m && at_wide < output.n) {
          *reinterpret_cast<Pair*>(at(at_long, at_wide)) = {y[0], y[1]};
        }
      }
    }
  }

  __device__ __forceinline__ float* at(int m, int n) const {
    return output.c + static_cast<long long>(m) * output.n + n;
  }
};

/// The consumers' half.
template <typename G, typename Tiles, typename Output>
__device__ __forceinline__ void consume_all_floats(const Tiles& tiles, const ClusterPlace& block,
                                                   const Ring<G::kStages>& ring, unsigned stages,
                                                   unsigned char* smem, const Output& output) {
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0);
  const int in_tile = G::kMode == Mode::pingpong ? 0 : warpgroup;
  const int rank = block.m * G::kClusterN + block.n;  // in its layer
  const int release_to = release_target<G>(block, static_cast<int>(threadIdx.x) % 128);
  RingPlace<G::kStages> place;
  const auto turns = [&] {
    if constexpr (G::kMode == Mode::pingpong) {
      return Turns{warpgroup};
    } else {
      return NoTurns{};
    }
  }();
  turns.start();
  bool mine = G::kMode != Mode::pingpong || warpgroup == 0;
  const int count = tiles.count();
#pragma unroll 1
  for (int index = 0; index < count; ++index) {
    const Work work = tiles.at(index);
    if (G::kMode == Mode::pingpong && !mine) {
      place.skip(work.slices.count);
      mine = true;
      continue;
    }
    const Corner corner = tiles.corner(work);
    Accumulators<G> sums;
    consume_floats<G>(sums, ring, place, stages, in_tile, work.slices.count, release_to, turns);
    if constexpr (G::kMode == Mode::pingpong) mine = false;
    const StoreFloats<G, Output> store = {output, tiles.end_m(work)};
    const WarpRows rows;
    const auto store_group = [&](const SumGroup<G>& group, Group at) {
      store(group, corner.first_long<G>() + in_tile * G::kOutputTiles * 64 + rows.first(at.tile),
            corner.first_wide<G>() + at.column * 8);
    };
    if constexpr (G::kClusterK > 1) {
      using Layout = FloatLayout<G>;
      const ClusterSum<G> sum = {stages + Layout::kReceived, stages + Layout::kSumBarrier, block.k,
                                 rank, G::kLayer};
      typename ClusterSum<G>::Share own = {};
      cluster_wait();  // all blocks run
      sum.send(sums, own);
      sum.wait();
      sum.add_up(smem + Layout::kReceived, own, store_group);
    } else {
#pragma unroll
      for (int tile = 0; tile < G::kOutputTiles; ++tile) {
#pragma unroll
        for (int column = 0; column < G::kOutputColumns; ++column) {
          SumGroup<G> group;
          take_group<G>(group, sums, {tile, column});
          store_group(group, {tile, column});
        }
      }
    }
  }
}

/// C[m, n] = A[m, k] @ B[n, k]^T of matrices in parts, made of kProducts products. A may be what
/// the launch ahead writes.
template <typename G, int kProducts, typename Output>
__device__ __forceinline__ void float_block(const TensorMap& a_map, const TensorMap& b_map, int m,
                                            int n, int k, const Output& output) {
  static_assert(G::kSplitK == 1 && !G::kStream && !G::kOverlap && G::kProducts == 1,
                "what this main loop leaves to that of 16 bits");
  using Layout = FloatLayout<G>;
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned stages = shared_address(smem);
  const Ring<G::kStages> ring = {stages + Layout::kBarriers};
  const bool is_producer = static_cast<int>(threadIdx.x) >= G::kConsumerThreads;
  if (threadIdx.x == 0) {
    ring.init(G::kSharers * (G::kClusterM + G::kClusterN - 1));
    if constexpr (G::kClusterK > 1) mbarrier_init(stages + Layout::kSumBarrier, 1);
    fence_mbarrier_init();
  } else if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
    tma_prefetch_map(a_map);
    tma_prefetch_map(b_map);
  }
  const ClusterPlace block = cluster_place(G::kCluster > 1 ? static_cast<int>(cluster_rank()) : 0,
                                           G::kClusterM, G::kClusterN);
  const Products<kProducts> products = {cdiv(k, G::kPanels * kFloatColumns)};
  const DenseTiles<G> tiles({m, n, kProducts * products.slices * G::kBlockK}, block,
                            static_cast<int>(blockIdx.x) / G::kCluster,
                            static_cast<int>(gridDim.x) / G::kCluster);
  if constexpr (G::kLayer > 1) {  // copies reach other blocks: their barriers must be there
    cluster_arrive_relaxed();
    __syncthreads();  // what racecheck knows
    cluster_wait();
  } else {
    __syncthreads();
  }
  if constexpr (G::kClusterK > 1) cluster_arrive_relaxed();  // waited for before anything is sent

  if (is_producer) {
    if constexpr (G::kConsumers > 1) registers_shrink<G::kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      produce_floats<G>(tiles, block, products, ring, stages, PartBoxes<G, Side::m>{&a_map, m},
                        PartBoxes<G, Side::n>{&b_map, n});
    }
    __syncwarp();
    if constexpr (G::kClusterK > 1) cluster_wait();
  } else {
    if constexpr (G::kConsumers > 1) registers_grow<G::kConsumerRegisters>();
    consume_all_floats<G>(tiles, block, ring, stages, smem, output);
  }
  if constexpr (G::kLayer >
                1) {  // other blocks arrive at this one's barriers: stay until they have
    cluster_arrive();
    cluster_wait();
  }
}
