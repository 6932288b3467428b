#pragma once

// Y[i] = X[rows[i]] W[e]^T for so few tokens that a warp holds all their choices: the body of
// moe_gemv.cu. It reads the weights of the chosen experts once, as fast as memory delivers them.
//
// The rows of those experts are shared by all blocks. All warps of a block work on the same rows.
// Each has some columns of them, and keeps those columns of X in registers: parts of a sum meet
// in shared memory, a batch of rows at a time. A warp asks for its weights by itself, STAGES times
// ROWS rows ahead, and waits for others only once a batch.
//
// Weights are asked for after one trip to memory, for `ids`. Lanes hold a choice each, in place of
// the tables that kernels for more tokens need.

#include "common/experts/row_share.cuh"
#include "common/ptx/bulk.cuh"
#include "common/ptx/cp_async.cuh"
#include "common/ptx/load_if.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/wgmma/row_statistics.cuh"

/// How weights come.
///   registers: by loads
///   lanes:     by copies into shared memory, of 16 bytes each
///   engine:    by the copy engine, a warp's columns of a row at a time
enum class Copy { registers, lanes, engine };

constexpr int kTokens = TOKENS;
constexpr int kWarps = WARPS;
constexpr int kChunks = CHUNKS;
constexpr int kRows = ROWS;
constexpr int kStages = STAGES;
constexpr Copy kCopy = Copy::COPY;
constexpr Deal kDeal = Deal::DEAL;
constexpr int kThreads = kWarps * 32;
constexpr int kBatch = 32;  // rows whose sums wait to be added up
constexpr int kSums = kRows * kTokens;

static_assert(kBatch % kRows == 0 && 32 % kSums == 0, "ROWS and TOKENS are powers of two");
static_assert((kStages == 1) == (kCopy == Copy::registers), "registers hold one stage");

/// The chunks of a row that are a lane's: kChunks, 32 apart, of `all`.
struct LaneColumns {
  int first, all;

  __device__ __forceinline__ bool has(int i) const { return first + i * 32 < all; }
};

/// A lane's chunks of kStages times kRows rows. Those that a row does not have are zeros. A stage
/// is asked for in the place of the one that has been read, `wanted` of its rows. Lane i knows at
/// which chunk of `weights` its row i begins, `begin`.
template <Copy kBy>
struct Arrivals;

template <>
struct Arrivals<Copy::registers> {
  const Chunk* const weights;
  const LaneColumns columns;
  Chunk chunks[kRows][kChunks] = {};

  __device__ __forceinline__ Arrivals(const Chunk* all_weights, const LaneColumns& lane_columns,
                                      int)
      : weights(all_weights), columns(lane_columns) {}

  /// Waits for the stage that was asked for first.
  __device__ __forceinline__ void wait() const {}
  /// What the stage has.
  __device__ __forceinline__ Chunk chunk(int row, int i) const { return chunks[row][i]; }
  /// Asks for one of a stage's rows.
  __device__ __forceinline__ void ask(int row, unsigned begin, int wanted) {
    const Chunk* const from = weights + __shfl_sync(~0u, begin, row) + columns.first;
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      load_streamed_if(row < wanted && columns.has(i), chunks[row][i], from + i * 32);
    }
  }
  __device__ __forceinline__ void ask_all(unsigned begin, int wanted) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) ask(row, begin, wanted);
  }
};

/// A warp's ring in shared memory.
struct WarpRing {
  static constexpr int kRowBytes = kChunks * 512;
  static constexpr int kStageBytes = kRows * kRowBytes;

  unsigned char* const first;  // the lane's first chunk
  int stage = 0;

  __device__ __forceinline__ explicit WarpRing(int warp)
      : first(ring() + warp * kStages * kStageBytes + static_cast<int>(threadIdx.x) % 32 * 16) {}

  static __device__ __forceinline__ unsigned char* ring() {
    extern __shared__ __align__(128) unsigned char smem[];
    return smem;
  }
  __device__ __forceinline__ Chunk* place(int row, int i) const {
    return reinterpret_cast<Chunk*>(first + stage * kStageBytes + row * kRowBytes + i * 512);
  }
  __device__ __forceinline__ Chunk chunk(int row, int i) const { return *place(row, i); }
};

/// A lane reads what it has copied.
template <>
struct Arrivals<Copy::lanes> : WarpRing {
  const Chunk* const weights;
  const LaneColumns columns;

  __device__ __forceinline__ Arrivals(const Chunk* all_weights, const LaneColumns& lane_columns,
                                      int warp)
      : WarpRing(warp), weights(all_weights), columns(lane_columns) {}

  __device__ __forceinline__ void wait() const { cp_async_wait<kStages - 1>(); }
  __device__ __forceinline__ void ask_all(unsigned begin, int wanted) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= wanted) break;
      const Chunk* const from = weights + __shfl_sync(~0u, begin, row) + columns.first;
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        const bool has = columns.has(i);
        cp_async_16(shared_address(place(row, i)), has ? from + i * 32 : weights, has ? 16 : 0);
      }
    }
    cp_async_commit();
    stage = stage + 1 == kStages ? 0 : stage + 1;
  }
};

template <>
struct Arrivals<Copy::engine> : WarpRing {
  const Chunk* const weights;
  const int lane;
  const int first_column;  // the warp's, in chunks
  const int row_bytes;
  const unsigned barriers;  // of the warp's stages
  unsigned parity = 1;      // the first round of asking makes it 0

  __device__ __forceinline__ Arrivals(const Chunk* all_weights, const LaneColumns& columns,
                                      int warp)
      : WarpRing(warp),
        weights(all_weights),
        lane(static_cast<int>(threadIdx.x) % 32),
        first_column(warp * kChunks * 32),
        row_bytes(larger(0, smaller(kChunks * 32, columns.all - first_column)) * 16),
        barriers(shared_address(all_barriers() + warp * kStages)) {
    if (lane < kStages) mbarrier_init(barriers + lane * 8, 1);
    fence_mbarrier_init();
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      if (columns.has(i)) continue;
#pragma unroll 1
      for (int row = 0; row < kStages * kRows; ++row) *place(row, i) = {};
    }
    __syncwarp();
  }

  static __device__ __forceinline__ unsigned long long* all_barriers() {
    __shared__ unsigned long long of[kWarps * kStages];
    return of;
  }
  __device__ __forceinline__ void wait() const {
    while (!mbarrier_try_wait(barriers + stage * 8, parity)) {
    }
  }
  __device__ __forceinline__ void ask_all(unsigned begin, int wanted) {
    const int rows = larger(0, smaller(kRows, wanted));
    const unsigned barrier = barriers + stage * 8;
    if (lane == 0) mbarrier_arrive_expect_bytes(barrier, rows * row_bytes);
    __syncwarp();
    if (lane < rows && row_bytes > 0) {
      const unsigned to = shared_address(first) + stage * kStageBytes + lane * (kRowBytes - 16);
      bulk_load(to, weights + begin + first_column, row_bytes, barrier);
    }
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

/// The tokens' choices, one a lane.
struct Choices {
  int expert;        // the lane's; beyond the last choice none
  unsigned experts;  // a lane for each expert that was chosen

  __device__ __forceinline__ Choices(int mine, int pairs)
      : expert(mine), experts(~0u >> (32 - pairs)) {
    if constexpr (kTokens > 1) {
      const unsigned same = __match_any_sync(~0u, mine);
      const int lane = static_cast<int>(threadIdx.x) % 32;
      experts &= __ballot_sync(~0u, lane + 1 == __ffs(static_cast<int>(same)));
    }
  }
  /// The expert of the first lane of `left`.
  __device__ __forceinline__ int first(unsigned left) const {
    return __shfl_sync(~0u, expert, __ffs(static_cast<int>(left)) - 1);
  }
};

/// The rows of a block, a stage at a time. Experts' rows follow one another.
struct RowWalk {
  const Choices& choices;
  const int n, chunks;  // rows of an expert, and of 16 bytes in a row
  const int step;       // to the lane's row of the next stage
  unsigned experts;     // that of the lane's row and those behind it
  int row;              // the lane's, of its expert's

  __device__ __forceinline__ RowWalk(const Choices& all, int num_rows, int row_chunks,
                                     const RowShare& share)
      : choices(all),
        n(num_rows),
        chunks(row_chunks),
        step(share.step * kRows),
        experts(all.experts),
        row(share.first + static_cast<int>(threadIdx.x) % kRows * share.step) {}

  /// At which chunk the lane's row of the next stage begins. Rows past the end begin anywhere.
  __device__ __forceinline__ unsigned next() {
#pragma unroll 1
    for (; row >= n; row -= n) experts &= experts - 1;
    const unsigned in_all = static_cast<unsigned>(choices.first(experts) * n + row);
    row += step;
    return in_all * static_cast<unsigned>(chunks);
  }
};

/// The sums over a warp's lanes of each of kSums sums. A lane is left with sum number
/// lane / (32 / kSums).
__device__ __forceinline__ float add_lanes(float (&sums)[kSums]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int distance = 16;
#pragma unroll
  for (int half = kSums / 2; half > 0; half /= 2, distance /= 2) {
    const bool is_upper = (lane & distance) != 0;
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const float given = is_upper ? sums[i] : sums[i + half];
      const float kept = is_upper ? sums[i + half] : sums[i];
      sums[i] = kept + __shfl_xor_sync(~0u, given, distance);
    }
  }
#pragma unroll
  for (; distance > 0; distance /= 2) sums[0] += __shfl_xor_sync(~0u, sums[0], distance);
  return sums[0];
}

/// Each token's sum += the products of eight columns.
template <typename Element>
__device__ __forceinline__ void add_products(float* sums, const float (&x)[kTokens][kChunks][8],
                                             int i, const Chunk& weights) {
#pragma unroll
  for (int word = 0; word < 4; ++word) {
    float pair[2];
    unpack(Element{}, weights.word[word], pair);
#pragma unroll
    for (int token = 0; token < kTokens; ++token) {
      sums[token] = fmaf(x[token][i][word * 2], pair[0], sums[token]);
      sums[token] = fmaf(x[token][i][word * 2 + 1], pair[1], sums[token]);
    }
  }
}

/// What a batch's sums are parts of.
using Parts = float[kWarps][kBatch * kTokens];

/// Where the lane's row of a batch goes.
struct RowOfY {
  int expert;
  int first;  // row of Y
  int column;

  /// `number` counts the rows of all experts.
  __device__ __forceinline__ RowOfY(const Choices& choices, int number, int pairs, int n)
      : first(0), column(number) {
    unsigned left = choices.experts;
#pragma unroll 1
    for (; column >= n && left != 0; column -= n) left &= left - 1;
    expert = choices.first(left);
#pragma unroll 1
    for (int pair = 0; pair < pairs; ++pair) {
      if (__shfl_sync(~0u, choices.expert, pair) < expert) ++first;
    }
  }
};

/// Adds up the parts of a batch, of the first `rows` rows, by one warp.
template <typename Element>
__device__ __forceinline__ void store_batch(const Parts& parts, int rows, const RowOfY& place,
                                            const Choices& choices, Element* y, int m, int top,
                                            int n) {
  const int row = static_cast<int>(threadIdx.x) % 32;
  Element* to = y + static_cast<long long>(place.first) * n + place.column;
#pragma unroll 1
  for (int token = 0; token < (kTokens == 1 ? 1 : m); ++token) {
    bool chose = kTokens == 1;
    if constexpr (kTokens > 1) {
#pragma unroll 1
      for (int pair = token * top; pair < (token + 1) * top; ++pair) {
        if (__shfl_sync(~0u, choices.expert, pair) == place.expert) chose = true;
      }
    }
    if (row >= rows || !chose) continue;
    float sum = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sum += parts[warp][row * kTokens + token];
    to->bits = static_cast<unsigned short>(pack(Element{}, sum, 0.0f));
    to += n;
  }
}

/// `ids` [m, top] says which experts a token chose, each once; x [m, k], w [experts, n, k], y [m *
/// top, n] in the order of the experts, and an expert's rows in that of the tokens.
template <Copy kBy, typename Element>
__device__ __forceinline__ void expert_gemv(const int* ids, const Element* x, const Element* w,
                                            Element* y, int m, int top, int n, int k) {
  __shared__ Parts parts[2];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
  const int pairs = m * top;
  const int mine = lane < pairs ? ids[lane] : -1;
  const LaneColumns columns = {warp * kChunks * 32 + lane, k / 8};
  Chunk x_chunks[kTokens][kChunks] = {};
#pragma unroll
  for (int token = 0; token < kTokens; ++token) {
    const Chunk* const row = reinterpret_cast<const Chunk*>(x + static_cast<long long>(token) * k);
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      if (token < m && columns.has(i)) x_chunks[token][i] = row[columns.first + i * 32];
    }
  }
  Arrivals<kBy> arrivals(reinterpret_cast<const Chunk*>(w), columns, warp);
  const Choices choices(mine, pairs);
  const RowShare share = row_share<kDeal>(__popc(choices.experts) * n, static_cast<int>(blockIdx.x),
                                          static_cast<int>(gridDim.x));
  RowWalk walk(choices, n, k / 8, share);
  int left = share.count;  // to be asked for
#pragma unroll 1
  for (int stage = 0; stage < kStages; ++stage, left -= kRows) {
    arrivals.ask_all(walk.next(), left);
  }
  float x_floats[kTokens][kChunks][8];
#pragma unroll
  for (int token = 0; token < kTokens; ++token) {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        float pair[2];
        unpack(Element{}, x_chunks[token][i].word[word], pair);
        x_floats[token][i][word * 2] = pair[0];
        x_floats[token][i][word * 2 + 1] = pair[1];
      }
    }
  }

  int buffer = 0;
#pragma unroll 1
  for (int done = 0; done < share.count; done += kRows, left -= kRows) {
    const unsigned begin = walk.next();
    arrivals.wait();
    float sums[kSums] = {};
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        add_products<Element>(sums + row * kTokens, x_floats, i, arrivals.chunk(row, i));
      }
      if constexpr (kBy == Copy::registers) arrivals.ask(row, begin, left);
    }
    if constexpr (kBy != Copy::registers) {
      __syncwarp();
      arrivals.ask_all(begin, left);
    }
    const float sum = add_lanes(sums);
    const int in_batch = done % kBatch;
    if (lane % (32 / kSums) == 0) {
      parts[buffer][warp][in_batch * kTokens + lane / (32 / kSums)] = sum;
    }
    if (in_batch + kRows == kBatch || done + kRows >= share.count) {
      // One barrier a batch will do, as the next batch has the other buffer.
      const int first = done - in_batch;
      const RowOfY place(choices, share.first + (first + lane) * share.step, pairs, n);
      __syncthreads();
      if (warp == 0) {
        store_batch(parts[buffer], share.count - first, place, choices, y, m, top, n);
      }
      buffer ^= 1;
    }
  }
}
