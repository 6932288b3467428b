#pragma once

// The product of gemm_mma.cuh with operands that have a row for each k: B[K,N], or A[K,M], too. A
// slice of such an operand lies in shared memory as it lies in memory, and ldmatrix transposes what
// it reads. Everything else is as in gemm_mma.cuh. Rows are aligned to 16 bytes.

#include "common/epilogue.cuh"
#include "common/gemm_config.cuh"
#include "common/ptx/ldmatrix_transposed.cuh"
#include "common/slice_copy.cuh"
#include "common/warp_mma.cuh"

/// A [rows, K], of which a tile has kTile rows.
template <typename Element, int kTile>
struct RowsOperand {
  SliceCopy<Element, kTile> copy;
  unsigned row, chunk;  // of this lane in a slice, in bytes; the chunk at step 0, swizzled

  __device__ __forceinline__ RowsOperand(const Element* matrix, int first, int rows, int k,
                                         int first_k, int end_k, const WarpPlace& place)
      : copy(matrix, first, rows, k, first_k, end_k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int line = place.m + lane % 16;
    row = line * kRowBytes;
    chunk = swizzled<kRowChunks>(line, place.k_group * kSteps * 2 + lane / 16) * 16;
  }

  /// The 16 x 16 matrix of rows of A that begins 16 * `i` rows behind the warp's first.
  __device__ __forceinline__ void read(unsigned (&to)[4], unsigned slice, int step, int i) const {
    ldmatrix_x4(to, slice + row + (chunk ^ (step * 32)) + i * 16 * kRowBytes);
  }
};

/// One thread's share of copying slices of BLOCK_K rows and kTile columns of a matrix [k, columns].
/// Rows past the end and columns past the matrix arrive as zeros and are not read.
template <typename Element, int kTile>
struct KRowsCopy {
  static constexpr int kChunks = kTile / 8;            // in a row of a slice
  static constexpr int kRowStep = kThreads / kChunks;  // rows between a thread's chunks
  static constexpr int kPerThread = cdiv(kBlockK, kRowStep);

  static_assert((kRowStep & (kRowStep - 1)) == 0,
                "rows of one thread differ in bits that its first row does not have");

  const Element* next;  // this thread's next chunk
  long long step;       // elements from one of its chunks to the next
  int rows_left;        // rows up to the end of K from its first chunk on; may be negative
  int row;              // of its first chunk within the slice
  unsigned target;      // of that chunk, in bytes from the slice's start

  __device__ __forceinline__ KRowsCopy(const Element* matrix, int first_column, int columns,
                                       int first_k, int end_k) {
    const int thread = static_cast<int>(threadIdx.x);
    const int chunk = thread % kChunks, column = first_column + chunk * 8;
    row = thread / kChunks;
    target = (row * kChunks + swizzled<kChunks>(row, chunk)) * 16;
    rows_left = column < columns ? end_k - first_k - row : 0;
    step = static_cast<long long>(kRowStep) * columns;
    next = matrix + static_cast<long long>(first_k + row) * columns + column;
  }

  __device__ __forceinline__ void start(unsigned slice, int part, int parts) {
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      if (i * parts / kPerThread != part) continue;
      // XOR swizzles bit by bit, and a thread's rows differ in bits that its first does not have.
      const unsigned at =
          (target ^ swizzled<kChunks>(i * kRowStep, 0) * 16) + i * kRowStep * kChunks * 16;
      if (kBlockK % kRowStep == 0 || row + i * kRowStep < kBlockK) {
        cp_async_16(slice + at, next, i * kRowStep < rows_left ? 16 : 0);
      }
      next += step;
    }
  }

  __device__ __forceinline__ void advance() {
    // All parts of a slice bring `next` to the next slice, or past it.
    if constexpr (kBlockK % kRowStep != 0) next -= step / kRowStep * (kRowStep - kBlockK);
    rows_left -= kBlockK;
  }
};

/// An operand [K, columns], of which a tile has kTile columns. Of B, the second matrix that
/// ldmatrix reads lies eight rows of K on, of A eight columns.
template <typename Element, int kTile, bool kOfA>
struct KRowsOperand {
  static constexpr int kBytes = kTile * 2;  // of a row of a slice
  static constexpr int kChunks = kTile / 8;

  KRowsCopy<Element, kTile> copy;
  unsigned row, chunk;  // of this lane at step 0, in bytes; the chunk swizzled

  __device__ __forceinline__ KRowsOperand(const Element* matrix, int first, int columns, int,
                                          int first_k, int end_k, const WarpPlace& place)
      : copy(matrix, first, columns, first_k, end_k) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int second = lane / 8 % 2, third = lane / 16;
    const int line = place.k_group * kSteps * 16 + lane % 8 + (kOfA ? third : second) * 8;
    const int column = (kOfA ? place.m : place.n) / 8 + (kOfA ? second : third);
    row = line * kBytes;
    chunk = swizzled<kChunks>(line, column) * 16;
  }

  /// Rows 16 apart swizzle alike, and the bits of `i` and of the first chunk do not overlap.
  __device__ __forceinline__ void read(unsigned (&to)[4], unsigned slice, int step, int i) const {
    ldmatrix_x4_transposed(to, slice + row + step * 16 * kBytes + (chunk ^ (i * 32)));
  }
};

template <typename A, typename B>
struct OperandPair {
  A a;
  B b;

  __device__ __forceinline__ void start(unsigned stage, int part, int parts) {
    a.copy.start(stage, part, parts);
    b.copy.start(stage + kSliceBytesA, part, parts);
  }
  __device__ __forceinline__ void advance() {
    a.copy.advance();
    b.copy.advance();
  }
  __device__ __forceinline__ void read(Fragments& to, unsigned stage, int step) const {
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) a.read(to.a[i], stage, step, i);
#pragma unroll
    for (int j = 0; j < kTilesN / 2; ++j) b.read(to.b[j], stage + kSliceBytesA, step, j);
  }
};

/// multiply_slices of gemm_mma.cuh.
template <typename Element, typename Pair>
__device__ __forceinline__ void multiply_laid_out(Sums& sums, Pair& pair, int num_slices,
                                                  unsigned smem) {
#pragma unroll 1
  for (int slice = 0; slice < kStages - 1; ++slice) {
    pair.start(smem + slice * kStageBytes, 0, 1);
    pair.advance();
    cp_async_commit();
  }
  cp_async_wait<kStages - 2>();
  __syncthreads();

  Fragments fragments[2];
  const unsigned last_stage = smem + (kStages - 1) * kStageBytes;
  unsigned read_stage = smem, write_stage = last_stage;
  pair.read(fragments[0], read_stage, 0);

#pragma unroll 1
  for (int slice = 0; slice < num_slices; ++slice) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps - 1) {
        cp_async_wait<kStages - 2>();
        __syncthreads();
        read_stage = read_stage == last_stage ? smem : read_stage + kStageBytes;
        pair.read(fragments[0], read_stage, 0);
      } else {
        pair.read(fragments[(step + 1) % 2], read_stage, step + 1);
      }
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
        if (step < kSteps - 1) pair.start(write_stage, step * kTilesM + i, (kSteps - 1) * kTilesM);
        multiply_row<Element>(sums, fragments[step % 2], i);
      }
      if (step == kSteps - 2) {
        cp_async_commit();
        pair.advance();
        write_stage = write_stage == last_stage ? smem : write_stage + kStageBytes;
      }
    }
  }
  cp_async_wait<0>();
}

/// The block's tile of C, or one of SPLIT_K partials of the tile, of an `A` and of B [k, n].
template <typename A, typename Element>
__device__ __forceinline__ void laid_out_tile(const Element* a, const Element* b, Element* c,
                                              float* partial, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char smem[];
  const Tile tile =
      tile_at(kSchedule, static_cast<int>(blockIdx.x), cdiv(m, kBlockM), cdiv(n, kBlockN), kGroupM);
  const int split = static_cast<int>(blockIdx.z);
  const SliceRange slices = slices_of(split, kSplitK, cdiv(k, kBlockK));
  const int first_m = tile.m * kBlockM, first_n = tile.n * kBlockN;
  const int first_k = slices.first * kBlockK;
  const int end_k = smaller(k, (slices.first + slices.count) * kBlockK);

  const WarpPlace place;
  using B = KRowsOperand<Element, kBlockN, false>;
  OperandPair<A, B> pair = {A(a, first_m, m, k, first_k, end_k, place),
                            B(b, first_n, n, k, first_k, end_k, place)};
  Sums sums = {};
  multiply_laid_out<Element>(sums, pair, slices.count, shared_address(smem));
  __syncthreads();

  if constexpr (kWarpsK > 1) add_groups(sums, place.k_group, reinterpret_cast<float*>(smem));
  if constexpr (kSplitK > 1) {
    float* own = partial + static_cast<long long>(split) * m * n;
    store_partial(sums, place, own, first_m, first_n, m, n);
  } else {
    store_tile(sums, place, c, first_m, first_n, m, n, smem);
  }
}
