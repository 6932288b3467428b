#pragma once

// Brings slices of BLOCK_K columns of a row-major matrix into swizzled shared memory. Rows past the
// matrix and columns past K arrive as zeros and are not read.

#include "common/gemm_config.cuh"
#include "common/ptx/cp_async.cuh"
#include "common/swizzle.cuh"

/// One thread's share of copying kRows x BLOCK_K slices of `matrix` [rows, k] from row `first_row`.
template <typename Element, int kRows>
struct SliceCopy {
  static constexpr int kRowStep = kThreads / kRowChunks;  // rows between a thread's chunks
  static constexpr int kPerThread = cdiv(kRows, kRowStep);
  static constexpr bool kEven = kRows % kRowStep == 0;  // every thread has as many chunks

  const Element* source;  // this thread's first chunk at column 0 of the matrix
  int k;
  int column;     // of this thread's chunks within a slice, in elements
  int row;        // of its first chunk within the slice
  int rows_left;  // rows of the matrix from there on; may be negative

  __device__ __forceinline__ SliceCopy(const Element* matrix, int first_row, int rows, int k_)
      : k(k_) {
    column = static_cast<int>(threadIdx.x) % kRowChunks * 8;
    row = static_cast<int>(threadIdx.x) / kRowChunks;
    rows_left = rows - first_row - row;
    // Threads with nothing to read still hold an address inside the matrix.
    source = matrix + static_cast<long long>(rows_left > 0 ? first_row + row : 0) * k;
  }

  __device__ __forceinline__ unsigned target(unsigned slice, int i) const {
    const int at = row + i * kRowStep;
    return slice + at * kRowBytes + swizzled<kRowChunks>(at, column / 8) * 16;
  }

  /// Starts copying part `part` of `parts` (constants, once unrolled) of the slice that begins at
  /// column `first_k`. Needs K % 8 == 0 and a matrix aligned to 16 bytes, so that a chunk lies
  /// inside K or outside.
  __device__ __forceinline__ void start(unsigned slice, int first_k, int part, int parts) const {
    const int at_k = first_k + column;
    const int rows_here = at_k < k ? rows_left : 0;
    const Element* from = source + (at_k < k ? at_k : 0);
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
      if (i * parts / kPerThread != part) continue;
      const bool inside = i * kRowStep < rows_here;
      if (kEven || row + i * kRowStep < kRows) {
        const long long ahead = inside ? static_cast<long long>(i * kRowStep) * k : 0;
        cp_async_16(target(slice, i), from + ahead, inside ? 16 : 0);
      }
    }
  }

  /// Copies the whole slice an element at a time: right for every K and alignment, and slow.
  __device__ __forceinline__ void copy_elements(unsigned char* slice, int first_k) const {
    const unsigned slice_address = shared_address(slice);
#pragma unroll 1
    for (int i = 0; i < kPerThread; ++i) {
      if (row + i * kRowStep >= kRows) break;
      const Element* from = source + static_cast<long long>(i * kRowStep) * k;
      Chunk chunk = {};
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const int at_k = first_k + column + e;
        const bool inside = i * kRowStep < rows_left && at_k < k;
        const unsigned bits = inside ? from[at_k].bits : 0u;
        chunk.word[e / 2] |= bits << (e % 2 * 16);
      }
      *reinterpret_cast<Chunk*>(slice + (target(slice_address, i) - slice_address)) = chunk;
    }
  }
};
