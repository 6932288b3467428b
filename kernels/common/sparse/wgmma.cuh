#pragma once

// A product of tokens and gathered rows by wgmma, for many tokens. Tokens are the long side, and
// the copy engine brings them. A warpgroup gathers the rows. `up` multiplies the tokens by rows of
// W1; `down` adds rows of W2 up, each times its column of H, and for that wgmma transposes them.
// A block makes one tile, or its part of the sums of one. common/wgmma/ has the rest.

#include "common/ptx/cp_async_mbarrier.cuh"
#include "common/ptx/wgmma_odd.cuh"
#include "common/ptx/wgmma_transposed.cuh"
#include "common/sparse/begin.cuh"
#include "common/sparse/panels.cuh"
#include "common/wgmma/block.cuh"

/// A block has consumers, and a warpgroup that fills the stages.
template <typename G>
struct GatherBlock {
  static constexpr int kThreads = G::kConsumerThreads + kGatherThreads;
  static constexpr int kTokenBytes = G::kPanels * G::kBlockM * 128;  // of a stage, its first
  // Where the tile's biases lie in shared memory, or the warps' parts of the list.
  static constexpr int kBehind = SharedLayout<G>::kEnd;
  // Two launches meet on an SM when each leaves half of the registers. What a consumer holds of its
  // own: sums, its share of those of a cluster, and some 48 more.
  static constexpr int kHeld =
      G::kLongTiles * G::kWide / 2 + (G::kClusterK > 1 ? G::kShare * 4 : 0) + 48;
  static constexpr int kBlocks = 2 * kThreads * kHeld <= 65536 ? 2 : 1;  // of an SM
  // Alone there, three warpgroups have 168 registers a thread. Wide tiles need more for sums. But
  // who gathers has a row of its own for each 16 of the tile.
  static constexpr bool kTrades = kHeld > 160 && G::kConsumers == 2;
  static constexpr int kProducerRegisters = 56, kConsumerRegisters = 224;
};

__device__ __forceinline__ float to_float(Bf16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ __forceinline__ float to_float(F16 x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}

/// A transform (wgmma/transform.cuh): relu(sum + bias). The tile's biases lie in shared memory.
struct BiasRelu {
  static constexpr int kProducts = 1;

  const float* biases;
  int first;    // the tile's column
  bool live;    // false in a rehearsal: they are not there yet
  int threads;  // of the block

  __device__ __forceinline__ void wait() const { named_barrier_sync(1, threads); }
  __device__ __forceinline__ Nothing row(int) const { return {}; }
  __device__ __forceinline__ float column(int at) const { return live ? biases[at - first] : 0.0f; }
  __device__ __forceinline__ void columns(int at, float (&two)[2]) const {
    two[0] = column(at);
    two[1] = column(at + 1);
  }
  __device__ __forceinline__ float operator()(const float (&sums)[1], Nothing, float bias) const {
    return fmaxf(sums[0] + bias, 0.0f);
  }
};

/// A block's tokens, which one thread asks for.
template <typename G>
struct Tokens {
  Boxes<G, Side::m> boxes;
  Ring<G::kStages> ring;
  unsigned stages;
  int first_row;
  SliceRange slices;

  __device__ __forceinline__ void copy(int stage, int slice) const {
    const unsigned barrier = ring.full(stage);
    mbarrier_arrive_expect_bytes(barrier, GatherBlock<G>::kTokenBytes);
    boxes.copy_slice({}, stages + stage * G::kStageBytes, barrier, first_row,
                     (slices.first + slice) * G::kBlockK);
  }

  /// How many slices the ring takes before anything has left it.
  __device__ __forceinline__ int at_first() const { return smaller(G::kStages, slices.count); }
  __device__ __forceinline__ void copy_first() const {
#pragma unroll 1
    for (int slice = 0; slice < at_first(); ++slice) copy(slice, slice);
  }
};

/// The producers' part. Each thread's copies announce themselves when they land. `lists` is where
/// warps keep their part of the list: loads of it would come back behind all copies that were asked
/// for ahead of them. As `sums_as_rows` the tokens are waited for only when rows fill the ring; as
/// `columns_as_rows` the first of them have been asked for.
template <typename G, Weights kLayout>
__device__ __forceinline__ void fill_stages(GatheredPanels<G, kLayout>& rows,
                                            const Tokens<G>& tokens, const int* lists,
                                            int first_column) {
  constexpr bool kAlong = kLayout == Weights::columns_as_rows;
  using Share = typename GatheredPanels<G, kLayout>::Share;
  const bool has_tokens = static_cast<int>(threadIdx.x) == G::kConsumerThreads;
  const SliceRange slices = tokens.slices;
  const ListCopies<Share, G::kBlockK> list = {rows.neurons, lists, slices.first * G::kBlockK};
  RingPlace<G::kStages> place;
#pragma unroll 1
  for (int slice = 0; slice < slices.count; ++slice, place.advance()) {
    const int along = (slices.first + slice) * G::kBlockK;
    const unsigned to = tokens.stages + place.stage * G::kStageBytes + GatherBlock<G>::kTokenBytes;
    tokens.ring.wait_empty(place);
    if constexpr (!kAlong) {
      WarpList<Share>::wait(list);
      rows.look_up(lists, slice, along);
    }
    rows.copy(to, kAlong ? along : first_column);
    mbarrier_arrive_with_copies(tokens.ring.full(place.stage));
    if (has_tokens) {
      if (slice == tokens.at_first() - 1) {
        if constexpr (kAlong) {
          let_down_begin<DownBegins::when_asked>();
        } else {
          grid_wait();
          tokens.copy_first();
        }
      }
      if (slice >= G::kStages) tokens.copy(place.stage, slice);
    }
    __syncwarp();
    if constexpr (!kAlong) WarpList<Share>::ask_next(list, slice, slices.count);
  }
}

/// Steps (wgmma/slice.cuh) of rows that were gathered. As `sums_as_rows` a row of the wide side is
/// a step of the sum.
template <typename G, Weights kLayout>
struct GatheredSteps : Steps<G> {
  static __device__ __forceinline__ void fence() {
    fence_for_tma();  // wgmma reads as the copy engine does, and rows were not copied by it
    wgmma_fence();
  }
};
template <typename G>
struct GatheredSteps<G, Weights::sums_as_rows> : GatheredSteps<G, Weights::columns_as_rows> {
  static __device__ __forceinline__ unsigned wide_address(unsigned shared) {
    return PanelShape<G, Weights::sums_as_rows>::address(shared);
  }
  static ASSAY_HD constexpr unsigned wide_offset(int step) { return step * 128; }
  static __device__ __forceinline__ void multiply(float (&sums)[G::kWide / 2],
                                                  unsigned long long long_rows,
                                                  unsigned long long wide_rows) {
    WgmmaTransposed<G::kWide>::multiply(typename G::Element{}, sums, long_rows, wide_rows);
  }
};

/// The consumers' part. `output_of(live)` is the output, or that of a rehearsal.
template <typename G, Weights kLayout, typename OutputOf>
__device__ __forceinline__ void make_tile(const DenseTiles<G>& tiles, const ClusterPlace& block,
                                          const Ring<G::kStages>& ring, unsigned stages,
                                          unsigned char* smem, const OutputOf& output_of) {
  const ConsumerPlace<G> consumer(block);
  const Work work = tiles.at(0);
  const Corner corner = tiles.corner(work);
  bool live = false;  // at first: it rehearses, as consume_all does
#pragma unroll 1
  for (int index = 0; index < 1;) {
    const auto output = output_of(live);
    const WayOut<G, decltype(output_of(live))> way_out = {
        output, smem, work, consumer.rank, consumer.warpgroup, live ? tiles.end_m(work) : 0, live};
    Accumulators<G> sums;
    RingPlace<G::kStages> place;
    consume_whole<G, GatheredSteps<G, kLayout>>(sums, ring, place, stages, consumer.long_offset(),
                                                live ? work.slices.count : 0, consumer.release_to,
                                                NoTurns{});
    if (live) output.transform.wait();
    if constexpr (G::kClusterK == 1) {
#pragma unroll
      for (int i = 0; i < G::kLongTiles; ++i) way_out.store_rows(sums, i, corner);
    } else {
      way_out.store_sums(sums, cluster_sum<G>(stages, block, consumer.rank), corner);
    }
    if (live) ++index;  // as in consume_all: leave this line as it is
    live = true;
  }
}

/// What a block does. `weights` [.., columns] has a row for each neuron. As `columns_as_rows` the
/// tile's are those of its columns, and `bias`, one number for each neuron, comes to lie in shared
/// memory. As `sums_as_rows` a launch ahead makes the tokens. `output_of(corner, biases, live)` is
/// the output.
template <typename G, Weights kLayout, typename OutputOf>
__device__ __forceinline__ void gathered_block(const typename DenseTiles<G>::Problem& problem,
                                               const TensorMap& token_map,
                                               const ActiveNeurons& neurons,
                                               const typename G::Element* weights, int columns,
                                               const typename G::Element* bias,
                                               const OutputOf& output_of) {
  using Block = GatherBlock<G>;
  using Element = typename G::Element;
  constexpr bool kAlong = kLayout == Weights::columns_as_rows;
  extern __shared__ __align__(1024) unsigned char smem[];
  const unsigned stages = shared_address(smem);
  const Ring<G::kStages> ring = {stages + SharedLayout<G>::kBarriers};
  float* const biases = reinterpret_cast<float*>(smem + Block::kBehind);
  int* const lists = reinterpret_cast<int*>(smem + Block::kBehind);
  const ClusterPlace block = cluster_place(G::kCluster > 1 ? static_cast<int>(cluster_rank()) : 0,
                                           G::kClusterM, G::kClusterN);
  const DenseTiles<G> tiles(problem, block, static_cast<int>(blockIdx.x) / G::kCluster,
                            static_cast<int>(gridDim.x) / G::kCluster);
  const SliceRange slices = tiles.at(0).slices;
  const Corner corner = tiles.corner(tiles.at(0));
  const bool is_producer = static_cast<int>(threadIdx.x) >= G::kConsumerThreads;

  // The list first: all waits for what it says.
  using Rows = GatheredPanels<G, kLayout>;
  Rows rows = {typename Rows::Share(static_cast<int>(threadIdx.x) % kGatherThreads), neurons,
               weights, columns};
  if (is_producer) {
    if constexpr (kAlong) {
      rows.look_up(corner.n);
    } else {
      using Share = typename Rows::Share;
      const ListCopies<Share, G::kBlockK> list = {neurons, lists, slices.first * G::kBlockK};
#pragma unroll 1
      for (int slice = -WarpList<Share>::kSlices; slice < 0; ++slice) {
        WarpList<Share>::ask_next(list, slice, slices.count);
      }
    }
  }
  if (threadIdx.x == 0) {
#pragma unroll
    for (int stage = 0; stage < G::kStages; ++stage) {
      mbarrier_init(ring.full(stage), 1 + kGatherThreads);
      mbarrier_init(ring.empty(stage), G::kSharers);
    }
    if constexpr (G::kClusterK > 1) mbarrier_init(stages + SharedLayout<G>::kSumBarrier, 1);
    fence_mbarrier_init();
    tma_prefetch_map(token_map);
  }
  meet<G>();

  if (is_producer) {
    if constexpr (Block::kTrades) registers_shrink<Block::kProducerRegisters>();
    const Tokens<G> tokens = {{&token_map}, ring, stages, corner.m, slices};
    if constexpr (kAlong) {
      // Tokens do not wait for the list.
      if (static_cast<int>(threadIdx.x) == G::kConsumerThreads) tokens.copy_first();
      __syncwarp();
      constexpr int kCount = Rows::Share::kCount;
      Element own[kCount] = {};
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (rows.share.chunk == 0 && rows.numbers[i] >= 0) own[i] = bias[rows.numbers[i]];
      }
      fill_stages<G, kLayout>(rows, tokens, nullptr, corner.n);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        asm volatile("" : "+h"(own[i].bits));  // not before the loop, where nobody wants to wait
        if (rows.share.chunk == 0 && rows.share.has(i)) {
          biases[rows.share.row(i)] = to_float(own[i]);
        }
      }
      named_barrier_arrive(1, Block::kThreads);
    } else {
      fill_stages<G, kLayout>(rows, tokens, lists, corner.n);
    }
    __syncwarp();
    if constexpr (G::kClusterK > 1) cluster_wait();
  }
  __syncwarp();  // as in gemm_block: the producers' code comes first
  if (!is_producer) {
    if constexpr (Block::kTrades) registers_grow<Block::kConsumerRegisters>();
    make_tile<G, kLayout>(tiles, block, ring, stages, smem,
                          [&](bool live) { return output_of(corner, biases, live); });
  }
}
