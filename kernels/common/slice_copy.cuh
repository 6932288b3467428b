#pragma once

// Brings slices of BLOCK_K columns of a row-major matrix into swizzled shared memory. Rows past the
// matrix and columns past the end of K arrive as zeros and are not read.

#include "common/gemm_config.cuh"
#include "common/ptx/cp_async.cuh"
#include "common/swizzle.cuh"

/// One thread's share of copying kRows x BLOCK_K slices, one after another along K.
template <typename Element, int kRows>
struct SliceCopy {
  static constexpr int kRowStep = kThreads / kRowChunks;  // rows between a thread's chunks
  static constexpr int kPerThread = cdiv(kRows, kRowStep);
  static constexpr bool kEven = kRows % kRowStep == 0;  // every thread has as many chunks

  static_assert((kRowStep & (kRowStep - 1)) == 0,
                "rows of one thread differ in bits that its first row does not have");

  const Element* first;  // this thread's first chunk of the current slice
  const Element* next;   // its next chunk
  long long step;        // elements from one of its chunks to the next
  int rows_left;         // rows of the matrix from its first chunk on; may be negative
  int k_left;            // columns of K from its chunks on; may be negative
  int row;               // of its first chunk within the slice
  unsigned line;         // of that row, in bytes from the slice's start
  unsigned chunk;        // in bytes within the row, swizzled

  /// Rows from `first_row` on of `matrix` [rows, k], columns [first_k, end_k).
  __device__ __forceinline__ SliceCopy(const Element* matrix, int first_row, int rows, int k,
                                       int first_k, int end_k) {
    const int thread = static_cast<int>(threadIdx.x);
    const int column = thread % kRowChunks;
    row = thread / kRowChunks;
    line = row * kRowBytes;
    chunk = swizzled<kRowChunks>(row, column) * 16;
    rows_left = rows - first_row - row;
    k_left = end_k - first_k - column * 8;
    step = static_cast<long long>(kRowStep) * k;
    first = matrix + static_cast<long long>(first_row + row) * k + first_k + column * 8;
    next = first;
  }

  /// Where chunk `i` goes: XOR swizzles bit by bit, so the bits of i * kRowStep add their part to
  /// those of the first row.
  __device__ __forceinline__ unsigned target(int i) const {
    return line + (chunk ^ swizzled<kRowChunks>(i * kRowStep, 0) * 16) + i * kRowStep * kRowBytes;
  }

  /// Starts copying part `part` of `parts` (constants, once unrolled) of the current slice; parts
  /// are started in order. Needs rows and columns aligned to 16 bytes, so that a chunk lies inside
  /// the matrix or outside. No branch: the compiler mixes this with the tensor cores' work.
  __device__ __forceinline__ void start(unsigned slice, int part, int parts) {
    const int rows_here = k_left > 0 ? rows_left : 0;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      if (i * parts / kPerThread != part) continue;
      if (kEven || row + i * kRowStep < kRows) {
        cp_async_16(slice + target(i), next, i * kRowStep < rows_here ? 16 : 0);
      }
      next += step;
    }
  }

  /// Copies the current slice an element at a time: right for every K and alignment, and slow.
  __device__ __forceinline__ void copy_elements(unsigned char* slice) {
#pragma unroll 1
    for (int i = 0; i < kPerThread; ++i) {
      if (row + i * kRowStep >= kRows) break;
      Chunk elements = {};
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const bool inside = i * kRowStep < rows_left && e < k_left;
        const unsigned bits = inside ? next[e].bits : 0u;
        elements.word[e / 2] |= bits << (e % 2 * 16);
      }
      *reinterpret_cast<Chunk*>(slice + target(i)) = elements;
      next += step;
    }
  }

  __device__ __forceinline__ void advance() {
    first += kBlockK;
    next = first;
    k_left -= kBlockK;
  }
};
