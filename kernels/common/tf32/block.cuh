#pragma once

// The body of a kernel that multiplies floats as tf32 by wgmma, fp32 outputs. It is that of
// wgmma/block.cuh in its simplest form: a producer copies slices of two operands into a ring, one
// or two warpgroups multiply them, and each thread stores the sums it holds.
//
// To the main loop eight floats are sixteen elements of 16 bits: 32 bytes of a row, a step of
// wgmma. So what follows from the tunables (wgmma/geometry.cuh) is that of a product with twice as
// many columns. Only copies, which name a column, and the wgmma themselves know better.

#include "common/ptx/wgmma_tf32.cuh"
#include "common/tf32/parts.cuh"
#include "common/wgmma/block.cuh"

/// Tunables are those of Geometry, but that outputs are not staged in shared memory.
template <typename Tunables>
struct FloatGeometry : Geometry<Tunables> {
  static constexpr bool kStaged = false;
};

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

/// The copies of slices of two matrices in parts (produce_all, wgmma/block.cuh). B is there from
/// the start, A is made by the launch ahead.
template <typename G, int kProducts>
struct PartCopies {
  static constexpr int kABytes = PartBoxes<G, Side::m>::kSliceBytes;
  static constexpr int kBBytes = PartBoxes<G, Side::n>::kSliceBytes;
  static constexpr int kAOffset = G::kSwap ? kBBytes : 0, kBOffset = G::kSwap ? 0 : kABytes;
  static constexpr int kBytes = kABytes + kBBytes;
  static_assert(kBytes == G::kStageBytes, "the operands fill a stage");

  struct At {
    int slice, of_k;
  };

  const Products<kProducts>& products;
  PartBoxes<G, Side::m> a;
  PartBoxes<G, Side::n> b;
  CopyShare a_share, b_share;
  bool waits = true;

  __device__ __forceinline__ At at(const Work& work, int i, bool backwards) const {
    const int slice = work.slices.first + i;
    return {slice, products.of_k(slice, backwards)};
  }
  __device__ __forceinline__ void copy(const Stage& stage, const Corner& corner, const At& at) {
    b.copy_slice(b_share, products.of_b(at.slice), stage.address + kBOffset, stage.barrier,
                 corner.n, at.of_k);
    end();
    a.copy_slice(a_share, products.of_a(at.slice), stage.address + kAOffset, stage.barrier,
                 corner.m, at.of_k);
  }
  /// Once: the launch behind relies on it, also where nothing is copied.
  __device__ __forceinline__ void end() {
    if (waits) grid_wait();
    waits = false;
  }
};

/// Steps of eight floats (wgmma/slice.cuh).
template <typename G>
struct FloatSteps : Steps<G> {
  static __device__ __forceinline__ void multiply(float (&sums)[G::kWide / 2],
                                                  unsigned long long long_rows,
                                                  unsigned long long wide_rows) {
    WgmmaTf32<G::kWide>::multiply(sums, long_rows, wide_rows);
  }
};

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
  const ConsumerPlace<G> consumer(block);
  RingPlace<G::kStages> place;
  const auto turns = consumer.turns();
  turns.start();
  bool mine = G::kMode != Mode::pingpong || consumer.warpgroup == 0;
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
    consume_whole<G, FloatSteps<G>>(sums, ring, place, stages, consumer.long_offset(),
                                    work.slices.count, consumer.release_to, turns);
    if constexpr (G::kMode == Mode::pingpong) mine = false;
    const StoreFloats<G, Output> store = {output, tiles.end_m(work)};
    const WarpRows rows;
    const auto store_group = [&](const SumGroup<G>& group, Group at) {
      store(group,
            corner.first_long<G>() + consumer.in_tile * G::kOutputTiles * 64 + rows.first(at.tile),
            corner.first_wide<G>() + at.column * 8);
    };
    if constexpr (G::kClusterK > 1) {
      const ClusterSum<G> sum = cluster_sum<G>(stages, block, consumer.rank);
      typename ClusterSum<G>::Share own = {};
      cluster_wait();  // all blocks run
      sum.send(sums, own);
      sum.wait();
      sum.add_up(smem + SharedLayout<G>::kReceived, own, store_group);
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
  static_assert(!G::kStaged, "each thread stores what it holds");
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned stages = shared_address(smem);
  const Ring<G::kStages> ring = {stages + SharedLayout<G>::kBarriers};
  const bool is_producer = static_cast<int>(threadIdx.x) >= G::kConsumerThreads;
  if (threadIdx.x == 0) {
    ring.init(G::kSharers * (G::kClusterM + G::kClusterN - 1));
    if constexpr (G::kClusterK > 1) mbarrier_init(stages + SharedLayout<G>::kSumBarrier, 1);
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
  meet<G>();

  if (is_producer) {
    if constexpr (G::kConsumers > 1) registers_shrink<G::kProducerRegisters>();
    if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) {
      produce_all<G>(tiles, ring, stages,
                     PartCopies<G, kProducts>{products,
                                              {&a_map, m},
                                              {&b_map, n},
                                              copy_share<G, Side::m>(block),
                                              copy_share<G, Side::n>(block)});
    }
    __syncwarp();
    if constexpr (G::kClusterK > 1) cluster_wait();
  } else {
    if constexpr (G::kConsumers > 1) registers_grow<G::kConsumerRegisters>();
    consume_all_floats<G>(tiles, block, ring, stages, smem, output);
  }
  leave<G>();
}
