#pragma once

// From sums to rows of C when tokens are the wide side. A thread then holds two neighbouring tokens
// of a column of C, and stores straight from registers would fill 16 bytes of a row each. So a
// warpgroup turns 16 tokens x 64 columns at a time in shared memory, and stores whole lines of 128
// bytes.

#include "common/ptx/named_barrier.cuh"
#include "common/ptx/stmatrix_transposed.cuh"
#include "common/wgmma/stores.cuh"

/// By a warpgroup. n is a multiple of 8, so that C's rows begin at multiples of 16 bytes. (A second
/// way, element by element, made 164 KB of code out of 47 in a kernel with five heights: 2.5 to 4 %
/// of the time of 512 to 1024 tokens.)
template <typename G, typename Output>
struct StoreTokens {
  static_assert(G::kSwap, "tokens are the wide side");
  using Element = typename Output::Element;
  static constexpr int kTokens = 16;
  static constexpr int kPanelBytes = kTokens * 128;
  static constexpr int kBytes = 2 * kPanelBytes;  // of shared memory: one fills while one is read

  const Output& output;
  int end_m;               // of the rows of C that the tile may write
  unsigned char* staging;  // the warpgroup's kBytes
  int barrier;             // of its own

  /// The outputs of the `tile`th 64 rows of the long side, which begin at (first_m, first_n) of C.
  __device__ __forceinline__ void operator()(const Accumulators<G>& sums, int tile, int first_m,
                                             int first_n) const {
    constexpr int kGroups = G::kOutputColumns;  // of 8 tokens
    const int thread = static_cast<int>(threadIdx.x) % 128;
    const int lane = thread % 32, warp = thread / 32;
    const int end = smaller(end_m, first_m + kGroups * 8);
    // What a lane writes: matrices are tokens 0-7, columns 0-7 and 8-15, then tokens 8-15.
    const int to_token = lane / 16 * 8 + lane % 8;
    const int to = to_token * 128 + swizzled<8>(to_token, warp * 2 + lane / 8 % 2) * 16;
    // What a thread reads and stores.
    const int token = thread / 8, column = thread % 8;
    const int from = token * 128 + swizzled<8>(token, column) * 16;
    const int at_n = first_n + column * 8;
    Element* row = output.c + static_cast<long long>(first_m + token) * output.n + at_n;
#pragma unroll
    for (int first = 0; first < kGroups; first += 2) {
      unsigned char* const panel = staging + first / 2 % 2 * kPanelBytes;
      unsigned matrix[4] = {};
#pragma unroll
      for (int next = 0; next < smaller(2, kGroups - first); ++next) {
        pack_group(matrix[next * 2], matrix[next * 2 + 1], sums, {tile, first + next},
                   first_m + (first + next) * 8, first_n);
      }
      stmatrix_x4_transposed(shared_address(panel + to), matrix);
      named_barrier_sync(barrier, 128);
      if (first_m + first * 8 + token < end && at_n < output.n) {
        *reinterpret_cast<Chunk*>(row) = *reinterpret_cast<const Chunk*>(panel + from);
      }
      row += static_cast<long long>(kTokens) * output.n;
    }
    named_barrier_sync(barrier, 128);  // the panels have been read
  }

 private:
  /// The outputs of 8 tokens for two times 8 columns, two tokens of a column a thread.
  __device__ __forceinline__ void pack_group(unsigned& low, unsigned& high,
                                             const Accumulators<G>& sums, Group at, int first_m,
                                             int first_n) const {
    SumGroup<G> group;
    take_group<G>(group, sums, at);
    const auto& transform = output.transform;
    const int m = first_m + WarpRows().lane % 4 * 2;
    const int n = first_n + WarpRows().first(0) + WarpRows().lane / 4;
    const auto first = transform.row(m), second = transform.row(m + 1);
    const auto left = transform.column(n), right = transform.column(n + 8);
    low = pack(Element{}, transformed<G>(group, 0, transform, first, left),
               transformed<G>(group, 1, transform, second, left));
    high = pack(Element{}, transformed<G>(group, 2, transform, first, right),
                transformed<G>(group, 3, transform, second, right));
  }
};
