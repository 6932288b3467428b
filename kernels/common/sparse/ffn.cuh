#pragma once

// Y = act(X W1'^T) W2', where W1' and W2' are the rows of the active neurons, as two launches:
//
//   up    H[M,Q] = act(X W1'^T): a block has some tokens and some active neurons, and with a
//         cluster a part of K. The rows of W1 are found by the list of neurons.
//   down  Y[M,K] = H W2': a block has some tokens and some columns, and goes down the active rows
//         of W2. It begins before `up` has ended and waits for it only when its ring is full of
//         weights, so that memory always has something to bring.
//
// The lists hold numbers of different neurons. K is a multiple of 8; H's rows are padded to such.

#include "common/ptx/cvt.cuh"
#include "common/ptx/grid_dependency.cuh"
#include "common/schedule.cuh"
#include "common/sparse/add_up.cuh"
#include "common/sparse/begin.cuh"
#include "common/sparse/multiply.cuh"
#include "common/sparse/rows.cuh"

/// The tunables of the first product.
template <int kNumProducts>
struct UpTunables {
  static constexpr int kTokens = UP_M;
  static constexpr int kColumns = UP_N;
  static constexpr int kProducts = kNumProducts;
  static constexpr int kSlice = UP_K;
  static constexpr int kStages = UP_STAGES;
  static constexpr int kWarps = WARPS;
  static constexpr int kCluster = UP_CLUSTER;
};

/// Those of the second.
struct DownTunables {
  static constexpr int kTokens = DOWN_M;
  static constexpr int kColumns = DOWN_N;
  static constexpr int kProducts = 1;
  static constexpr int kSlice = DOWN_Q;
  static constexpr int kStages = DOWN_STAGES;
  static constexpr int kWarps = WARPS;
  static constexpr int kCluster = DOWN_CLUSTER;
};

__device__ __forceinline__ float to_float(Bf16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}
__device__ __forceinline__ float to_float(F16 x) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
  return value;
}

struct Relu {
  static constexpr int kProducts = 1;
  static __device__ __forceinline__ float of(const float (&sums)[1]) {
    return fmaxf(sums[0], 0.0f);
  }
};

/// The width of a row of H.
__device__ __forceinline__ int hidden_pitch(int active) { return cdiv(active, 8) * 8; }

/// A block's place: its tile, and which part of the sum's length it has. Blocks that share weights
/// are neighbours.
template <typename Shape>
struct BlockPlace {
  int part = static_cast<int>(blockIdx.x) % Shape::kCluster;
  int first_token;
  int first_column;

  __device__ __forceinline__ explicit BlockPlace(int tokens) {
    const int tile = static_cast<int>(blockIdx.x) / Shape::kCluster;
    const int tiles = cdiv(tokens, Shape::kTokens);
    const int column = tiles == 1 ? tile : tile / tiles;
    first_token = (tile - column * tiles) * Shape::kTokens;
    first_column = column * Shape::kColumns;
  }
  /// The number of the tile's token `row`, or -1 past the last.
  __device__ __forceinline__ int token(int row, int tokens) const {
    return first_token + row < tokens ? first_token + row : -1;
  }
};

/// The rows of a block's tokens in `matrix` [m, columns].
template <typename Shape, typename Element>
__device__ __forceinline__ auto rows_of_tokens(const Element* matrix, long long pitch, int columns,
                                               const BlockPlace<Shape>& place, int m) {
  using Rows = RowsAlong<Element, Shape::kTokens, Shape::kSlice / 8, Shape::kThreads>;
  typename Rows::Numbers numbers;
  Rows::find(numbers, [&](int row) { return place.token(row, m); });
  return Rows(matrix, pitch, columns, numbers);
}

/// Writes a quad of outputs: rows below `rows`, and columns below `columns`, which is even.
template <typename Element>
__device__ __forceinline__ void store_quad(Element* out, long long pitch, int row, int column,
                                           int rows, int columns, const float (&four)[4]) {
  if (column >= columns) return;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (row + half * 8 >= rows) return;
    *reinterpret_cast<unsigned*>(out + (row + half * 8) * pitch + column) =
        pack(Element{}, four[half * 2], four[half * 2 + 1]);
  }
}

/// Does `work(true)`. Ahead of it, while the first slices are on their way, it rehearses: without
/// slices, and without rows to store, `work(false)` fetches the instructions of the way out. A
/// launch finds them in no cache, and at its end nothing hides that.
template <typename Work>
__device__ __forceinline__ void rehearse_and_do(const Work& work) {
  bool live = REHEARSE == 0;
#pragma unroll 1
  for (;;) {
    work(live);
    if (live) return;
    live = true;
  }
}

/// Whether the list of neurons is there from the start, or is made by the launch ahead.
enum class List { given, made };

/// `Activation::of(sums)` makes one element of H of its products' sums. `weights` [kProducts * f,
/// k] has the rows of one product and then those of the next. `bias` [f] is added to the first;
/// null: there is none.
template <typename Activation, List kList = List::given, typename Element>
__device__ __forceinline__ void up_block(const Element* x, const Element* weights,
                                         const Element* bias, const ActiveNeurons& neurons,
                                         Element* h, int m, int f, int k) {
  using Shape = TileShape<UpTunables<Activation::kProducts>>;
  extern __shared__ __align__(128) unsigned char smem[];
  if constexpr (kList == List::given) let_down_begin<DownBegins::at_once>();

  const BlockPlace<Shape> place(m);
  constexpr int kBarrierAt = Shape::kFrontBytes + Shape::kReceivedBytes;
  const TileAdder<Shape> adder = {smem, shared_address(smem + kBarrierAt), place.part};
  float* biases = reinterpret_cast<float*>(smem + kBarrierAt + 16);

  // The list first: all waits for what it says.
  const bool has_bias = bias != nullptr && threadIdx.x < Shape::kColumns;
  int neuron_of_bias = -1;
  constexpr int kChunks = Shape::kSlice / 8;
  using Rows = RowsAlong<Element, Shape::kProducts * Shape::kColumns, kChunks, Shape::kThreads>;
  typename Rows::Numbers numbers;
  const auto look_up = [&] {
    if (has_bias) neuron_of_bias = neurons[place.first_column + static_cast<int>(threadIdx.x)];
    Rows::find(numbers, [&](int row) {
      const int neuron = neurons[place.first_column + row % Shape::kColumns];
      return neuron < 0 ? -1 : row / Shape::kColumns * f + neuron;
    });
  };
  if constexpr (kList == List::given) look_up();
  const auto tokens = rows_of_tokens<Shape>(x, k, k, place, m);
  const SliceRange slices = slices_of(place.part, Shape::kCluster, cdiv(k, Shape::kSlice));
  const unsigned ring = shared_address(smem);
  if constexpr (kList == List::made) {
    grid_wait();
    let_down_begin<DownBegins::at_once>();  // not earlier: it reads the list, too
    look_up();
  }
  const Rows rows(weights, k, k, numbers);
#pragma unroll 1  // instructions are in no cache either
  for (int s = 0; s < Shape::kStages; ++s) {
    if (s < slices.count) {
      rows.copy(ring + s * Shape::kStageBytes + Shape::kTokenBytes, slices.first + s);
      tokens.copy(ring + s * Shape::kStageBytes, slices.first + s);
    }
    cp_async_commit();
  }
  let_down_begin<DownBegins::when_asked>();
  // Asked for here, and looked at only when the product is there.
  Element own_bias = {};
  if (neuron_of_bias >= 0) own_bias = bias[neuron_of_bias];
  adder.set_up();

  const WarpShare<Shape> warp(static_cast<int>(threadIdx.x));
  const int pitch = hidden_pitch(neurons.count);
  const int columns = smaller(place.first_column + Shape::kColumns, pitch);
  rehearse_and_do([&](bool live) {
    TileSums<Shape> sums = {};
    add_slices<Shape, Weights::columns_as_rows, Element>(
        sums, warp, ring, live ? slices.count : 0, [&](unsigned stage, int slice) {
          tokens.copy(stage, slices.first + slice);
          rows.copy(stage + Shape::kTokenBytes, slices.first + slice);
        });
    adder.send(sums, warp, live);
    if (has_bias && live) {
      asm volatile("" : "+h"(own_bias.bits));  // not before the loop, where nobody wants to wait
      biases[threadIdx.x] = to_float(own_bias);
    }
    __syncthreads();  // the biases are there
    const int end = live ? smaller(m, place.first_token + Shape::kTokens) : 0;
    adder.add_up(live, [&](const QuadPlace& at, Quad(&quad)[Shape::kProducts]) {
      float out[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float of_products[Shape::kProducts];
#pragma unroll
        for (int p = 0; p < Shape::kProducts; ++p) of_products[p] = quad[p].lane[e];
        if (bias != nullptr && at.column < Shape::kColumns) {
          of_products[0] += biases[at.column + e % 2];
        }
        out[e] = Activation::of(of_products);
      }
      store_quad(h, pitch, place.first_token + at.row, place.first_column + at.column, end, columns,
                 out);
    });
  });
}

/// `weights` [.., k]: the active rows are added up, each times its column of `h`.
template <typename Element>
__device__ __forceinline__ void down_block(const Element* h, const Element* weights,
                                           const ActiveNeurons& neurons, Element* y, int m, int k) {
  using Shape = TileShape<DownTunables>;
  extern __shared__ __align__(128) unsigned char smem[];

  const BlockPlace<Shape> place(m);
  const TileAdder<Shape> adder = {
      smem, shared_address(smem + Shape::kFrontBytes + Shape::kReceivedBytes), place.part};

  using Rows = RowsDown<Element, Shape::kSlice, Shape::kColumns / 8, Shape::kThreads>;
  const Rows rows(neurons, weights, place.first_column, k);
  const SliceRange slices =
      slices_of(place.part, Shape::kCluster, cdiv(neurons.count, Shape::kSlice));
  const unsigned ring = shared_address(smem);
  typename Rows::Numbers numbers[Shape::kStages];  // all are asked for before the first is needed
#pragma unroll
  for (int s = 0; s < Shape::kStages; ++s) rows.look_up(numbers[s], slices.first + s);
  const auto tokens =
      rows_of_tokens<Shape>(h, hidden_pitch(neurons.count), neurons.count, place, m);
#pragma unroll
  for (int s = 0; s < Shape::kStages; ++s) {
    if (s < slices.count) {
      rows.copy(ring + s * Shape::kStageBytes + Shape::kTokenBytes, numbers[s], slices.first + s);
    }
  }
  adder.set_up();
  typename Rows::Numbers& next = numbers[0];
  rows.look_up(next, slices.first + Shape::kStages);

  const WarpShare<Shape> warp(static_cast<int>(threadIdx.x));
  const int columns = smaller(place.first_column + Shape::kColumns, k);
  rehearse_and_do([&](bool live) {
    if (live) {
      grid_wait();
#pragma unroll
      for (int s = 0; s < Shape::kStages; ++s) {
        if (s < slices.count) tokens.copy(ring + s * Shape::kStageBytes, slices.first + s);
        cp_async_commit();
      }
    }
    TileSums<Shape> sums = {};
    add_slices<Shape, Weights::sums_as_rows, Element>(
        sums, warp, ring, live ? slices.count : 0, [&](unsigned stage, int slice) {
          tokens.copy(stage, slices.first + slice);
          rows.copy(stage + Shape::kTokenBytes, next, slices.first + slice);
          rows.look_up(next, slices.first + slice + 1);
        });
    adder.send(sums, warp, live);
    const int end = live ? smaller(m, place.first_token + Shape::kTokens) : 0;
    adder.add_up(live, [&](const QuadPlace& at, const Quad(&quad)[1]) {
      store_quad(y, k, place.first_token + at.row, place.first_column + at.column, end, columns,
                 quad[0].lane);
    });
  });
}
