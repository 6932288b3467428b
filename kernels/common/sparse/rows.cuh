#pragma once

// Brings slices of rows that lie anywhere into swizzled shared memory, 16 bytes at a time. Rows and
// columns that are not there arrive as zeros and are not read.

#include "common/ptx/cp_async.cuh"
#include "common/sparse/shape.cuh"

/// Which neurons are active: `count` of them, in an order of the caller's. The list names blocks of
/// 2^shift neurons that lie side by side.
struct ActiveNeurons {
  const int* list;
  int count;
  int shift;

  __device__ __forceinline__ ActiveNeurons(const int* blocks, int active, int block)
      : list(blocks), count(active), shift(31 - __clz(block)) {}

  /// The number of active neuron `at`, or -1 past the last.
  __device__ __forceinline__ int operator[](int at) const {
    if (at >= count) return -1;
    return (list[at >> shift] << shift) + (at & ((1 << shift) - 1));
  }
};

/// Slices along the columns of rows that stay the same.
template <typename Element, int kRows, int kChunks, int kThreads>
struct RowsAlong {
  using Share = SliceShare<kRows, kChunks, kThreads>;

  using Numbers = int[Share::kCount];  // of the rows that a thread copies chunks of; -1: none

  Share share{static_cast<int>(threadIdx.x)};
  const Element* from[Share::kCount];
  unsigned there = 0;  // a bit for each of those that lie in the matrix
  int columns;

  /// `row_at(i)` is the number of row i of a slice, or -1.
  template <typename RowAt>
  static __device__ __forceinline__ void find(Numbers& numbers, const RowAt& row_at) {
    const Share share{static_cast<int>(threadIdx.x)};
#pragma unroll
    for (int i = 0; i < Share::kCount; ++i) {
      numbers[i] = share.has(i) ? row_at(share.row(i)) : -1;
    }
  }

  __device__ __forceinline__ RowsAlong(const Element* matrix, long long pitch, int num_columns,
                                       const Numbers& numbers)
      : columns(num_columns) {
    static_assert(Share::kCount <= 32, "a bit for each");
#pragma unroll
    for (int i = 0; i < Share::kCount; ++i) {
      there |= (numbers[i] >= 0 ? 1u : 0u) << i;
      from[i] = matrix + larger(numbers[i], 0) * pitch;
    }
  }

  __device__ __forceinline__ void copy(unsigned to, int slice) const {
    const int column = (slice * kChunks + share.chunk) * 8;
    const int bytes = smaller(16, larger(0, (columns - column) * 2));
#pragma unroll
    for (int i = 0; i < Share::kCount; ++i) {
      if (!share.has(i)) break;
      cp_async_16(to + share.target(i), from[i] + column, (there >> i & 1) != 0 ? bytes : 0);
    }
  }
};

/// Slices down the active rows of weights [.., columns], from column `first` on.
template <typename Element, int kRows, int kChunks, int kThreads>
struct RowsDown {
  using Share = SliceShare<kRows, kChunks, kThreads>;
  // What the list says of the rows of one slice. Only copy() asks what it means: arithmetic would
  // wait for memory where it stands.
  using Numbers = int[Share::kCount];

  Share share{static_cast<int>(threadIdx.x)};
  ActiveNeurons neurons;
  const Element* from;
  int columns;
  bool inside;  // this thread's column

  __device__ __forceinline__ RowsDown(const ActiveNeurons& active, const Element* weights,
                                      int first, int num_columns)
      : neurons(active), columns(num_columns) {
    const int column = first + share.chunk * 8;
    from = weights + column;
    inside = column < num_columns;
  }

  __device__ __forceinline__ void look_up(Numbers& numbers, int slice) const {
#pragma unroll
    for (int i = 0; i < Share::kCount; ++i) {
      const int at = slice * kRows + share.row(i);
      numbers[i] = share.has(i) && at < neurons.count ? neurons.list[at >> neurons.shift] : -1;
    }
  }

  __device__ __forceinline__ void copy(unsigned to, const Numbers& numbers, int slice) const {
#pragma unroll
    for (int i = 0; i < Share::kCount; ++i) {
      if (!share.has(i)) break;
      const int in_block = (slice * kRows + share.row(i)) & ((1 << neurons.shift) - 1);
      const long long number = (larger(numbers[i], 0) << neurons.shift) + in_block;
      cp_async_16(to + share.target(i), from + number * columns,
                  inside && numbers[i] >= 0 ? 16 : 0);
    }
  }
};
