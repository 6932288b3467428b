// Y[M,K] = relu(X W1'^T + b1') W2' with the rows of W1 and W2 [F,K] of the active neurons only, in
// one launch. A block has some tokens and some neurons. It makes their part of H, which stays in
// shared memory, and goes through the columns of Y: what its neurons add to each is added to fp32
// sums by atomics, so that the last bits of Y vary. The last block of a tile of tokens rounds the
// sums. 16-bit in and out, by mma.sync (sm_80 and later). K is a multiple of 8.

#include "common/ptx/add_pair.cuh"
#include "common/sparse/ffn.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

/// The second product of a block: the sum is as long as the block has neurons.
struct AddTunables {
  static constexpr int kTokens = UP_M;
  static constexpr int kColumns = DOWN_N;
  static constexpr int kProducts = 1;
  static constexpr int kSlice = larger(16, UP_N);
  static constexpr int kStages = DOWN_STAGES;
  static constexpr int kWarps = WARPS;
  static constexpr int kCluster = 1;
};

using Up = TileShape<UpTunables<1>>;
using Down = TileShape<AddTunables>;
static_assert(Down::kWarpsK == 1, "the warps share out the columns, not the neurons");

constexpr int kHiddenChunks = Down::kSlice / 8;
constexpr int kWeightsAt = Up::kFrontBytes;  // in shared memory: the ring of W2, H, the biases
constexpr int kHiddenAt = kWeightsAt + Down::kStages * Down::kWeightBytes;
constexpr int kBiasesAt = kHiddenAt + Down::kTokenBytes;

/// Rounds the sums of a tile's tokens, which lie one after the other. One block does it while all
/// others are done, so a thread asks for eight times four sums before it waits: 16 rows of 4096 are
/// then eight trips to L2 and not 64.
__device__ __forceinline__ void round_sums(const float* sums, Element* y, int count) {
  constexpr int kAtOnce = 8, kStep = WARPS * 32 * 4;
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x) * 4; first < count; first += kAtOnce * kStep) {
    float4 four[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + i * kStep;
      if (at < count) four[i] = __ldcg(reinterpret_cast<const float4*>(sums + at));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + i * kStep;
      if (at >= count) break;
      unsigned* to = reinterpret_cast<unsigned*>(y + at);
      to[0] = pack(Element{}, four[i].x, four[i].y);
      to[1] = pack(Element{}, four[i].z, four[i].w);
    }
  }
}

/// `sums` [m, k], and behind it a counter for each tile of tokens, are zeros at first.
extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_atomics(const Element* x, const Element* w1, const Element* b1, const int* index,
                       const Element* w2, float* sums, Element* y, int m, int k, int active,
                       int block) {
  extern __shared__ __align__(128) unsigned char smem[];
  const ActiveNeurons neurons(index, active, block);
  const BlockPlace<Up> place(m);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;

  using FirstRows = RowsAlong<Element, Up::kColumns, Up::kSlice / 8, Up::kThreads>;
  using SecondRows = RowsAlong<Element, Down::kSlice, Down::kColumns / 8, Down::kThreads>;
  typename FirstRows::Numbers first_numbers;
  FirstRows::find(first_numbers, [&](int row) { return neurons[place.first_column + row]; });
  typename SecondRows::Numbers second_numbers;
  SecondRows::find(second_numbers, [&](int row) {
    return row < Up::kColumns ? neurons[place.first_column + row] : -1;
  });
  const int neuron_of_bias = thread < Up::kColumns ? neurons[place.first_column + thread] : -1;
  const auto tokens = rows_of_tokens<Up>(x, k, k, place, m);
  const FirstRows first(w1, k, k, first_numbers);
  const SecondRows second(w2, k, k, second_numbers);

  // Blocks that begin with different columns do not add to the same sums at the same time.
  const int num_tiles = cdiv(k, Down::kColumns);
  const int first_tile = ROTATE ? static_cast<int>(blockIdx.x) % num_tiles : 0;
  const auto column_tile = [&](int at) {
    const int tile = first_tile + at;
    return tile < num_tiles ? tile : tile - num_tiles;
  };

  const unsigned ring = shared_address(smem), weights = ring + kWeightsAt;
  const int slices = cdiv(k, Up::kSlice);
#pragma unroll 1
  for (int s = 0; s < Up::kStages; ++s) {
    if (s < slices) {
      first.copy(ring + s * Up::kStageBytes + Up::kTokenBytes, s);
      tokens.copy(ring + s * Up::kStageBytes, s);
    }
    if (s == Up::kStages - 1) {  // the second weights are on their way with the first
#pragma unroll 1
      for (int at = 0; at < smaller(Down::kStages, num_tiles); ++at) {
        second.copy(weights + at * Down::kWeightBytes, column_tile(at));
      }
    }
    cp_async_commit();
  }
  float* biases = reinterpret_cast<float*>(smem + kBiasesAt);
  if (thread < Up::kColumns) biases[thread] = neuron_of_bias < 0 ? 0 : to_float(b1[neuron_of_bias]);
  if constexpr (Up::kColumns < Down::kSlice) {
    for (int i = thread * 4; i < Down::kTokenBytes; i += Up::kThreads * 4) {
      *reinterpret_cast<unsigned*>(smem + kHiddenAt + i) = 0;
    }
  }

  {
    const WarpShare<Up> warp(thread);
    const TileAdder<Up> adder = {smem, 0, 0};
    TileSums<Up> of_up = {};
    add_slices<Up, Weights::columns_as_rows, Element>(of_up, warp, ring, slices,
                                                      [&](unsigned stage, int slice) {
                                                        tokens.copy(stage, slice);
                                                        first.copy(stage + Up::kTokenBytes, slice);
                                                      });
    adder.send(of_up, warp, true);
    adder.add_up(true, [&](const QuadPlace& at, const Quad(&quad)[1]) {
      if (at.column >= Up::kColumns) return;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = at.row + half * 8;
        if (row >= Up::kTokens) return;
        float pair[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          pair[e] = Relu::of({quad[0].lane[half * 2 + e] + biases[at.column + e]});
        }
        const int chunk = row * kHiddenChunks + swizzled<kHiddenChunks>(row, at.column / 8);
        *reinterpret_cast<unsigned*>(smem + kHiddenAt + chunk * 16 + at.column % 8 * 2) =
            pack(Element{}, pair[0], pair[1]);
      }
    });
  }
  cp_async_wait<0>();
  __syncthreads();

  const WarpShare<Down> warp(thread);
  const SliceAddresses<Down, Weights::sums_as_rows> addresses(warp, lane);
  unsigned hidden[Down::kSteps][Down::kTilesM][4];
#pragma unroll
  for (int i = 0; i < Down::kSteps * Down::kTilesM; ++i) {
    const int step = i / Down::kTilesM, tile = i % Down::kTilesM;
    ldmatrix_x4(hidden[step][tile], ring + kHiddenAt + addresses.tokens(tile, step));
  }
  int stage = 0, before = Down::kStages - 1;
#pragma unroll 1
  for (int at = 0; at < num_tiles; ++at) {
    if (at > 0) {
      cp_async_wait<Down::kStages - 2>();
      __syncthreads();  // also: all have read the stage before
      const int next = at - 1 + Down::kStages;
      if (next < num_tiles) second.copy(weights + before * Down::kWeightBytes, column_tile(next));
      cp_async_commit();
    }
    // SliceAddresses has the tokens ahead of the weights of a stage.
    const unsigned from = weights + stage * Down::kWeightBytes - Down::kTokenBytes;
    float added[Down::kTilesM][Down::kTilesN][4] = {};
#pragma unroll
    for (int step = 0; step < Down::kSteps; ++step) {
#pragma unroll
      for (int pair = 0; pair < Down::kTilesN / 2; ++pair) {
        unsigned two[4];
        ldmatrix_x4_transposed(two, from + addresses.weights(0, pair, step));
#pragma unroll
        for (int i = 0; i < Down::kTilesM; ++i) {
          mma_m16n8k16(Element{}, added[i][pair * 2], hidden[step][i], two[0], two[1]);
          mma_m16n8k16(Element{}, added[i][pair * 2 + 1], hidden[step][i], two[2], two[3]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < Down::kTilesM * 2; ++i) {
      const int row = warp.m + i * 8 + lane / 4;
      if (row >= Down::kTokens || place.first_token + row >= m) continue;
      float* to = sums + static_cast<long long>(place.first_token + row) * k;
#pragma unroll
      for (int j = 0; j < Down::kTilesN; ++j) {
        const int column = column_tile(at) * Down::kColumns + warp.n + j * 8 + lane % 4 * 2;
        const float* two = &added[i / 2][j][i % 2 * 2];
        if (column < k) add_pair(to + column, two[0], two[1]);
      }
    }
    before = stage;
    stage = stage == Down::kStages - 1 ? 0 : stage + 1;
  }

  __threadfence();
  __syncthreads();
  unsigned* counters = reinterpret_cast<unsigned*>(sums + static_cast<long long>(m) * k);
  int* is_last = reinterpret_cast<int*>(smem);
  if (thread == 0) {
    const auto blocks = static_cast<unsigned>(cdiv(active, Up::kColumns));
    *is_last = atomicAdd(counters + place.first_token / Up::kTokens, 1u) == blocks - 1;
  }
  __syncthreads();
  if (*is_last == 0) return;
  __threadfence();
  const long long first_sum = static_cast<long long>(place.first_token) * k;
  round_sums(sums + first_sum, y + first_sum, smaller(Up::kTokens, m - place.first_token) * k);
}
