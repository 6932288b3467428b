#pragma once

// C[M,N] = A[M,K] @ B[N,K]^T for a handful of rows of A: the body of gemv_bf16.cu. B is read once,
// as fast as memory delivers it, straight into registers; A stays in L1.
//
// A warp owns ROWS rows of B, or with WARPS_K > 1 a part of their columns. Lanes take 16 bytes
// each, UNROLL times ahead.

#include "common/ptx/cvt.cuh"
#include "common/ptx/load.cuh"
#include "common/types.cuh"

constexpr int kMaxM = MAX_M;
constexpr int kRows = ROWS;
constexpr int kUnroll = UNROLL;
constexpr int kWarps = WARPS;
constexpr int kWarpsK = WARPS_K;
constexpr int kThreads = kWarps * 32;
constexpr int kBlockRows = kRows * kWarps / kWarpsK;  // rows of B, columns of C, of a block

static_assert(kWarps % kWarpsK == 0, "WARPS_K warps share rows");
static_assert(kMaxM * kRows <= 32, "sums are in registers");

/// The two bf16 of a word as floats: a bf16 is the upper half of a float.
__device__ __forceinline__ float low_float(unsigned word) { return __uint_as_float(word << 16); }
__device__ __forceinline__ float high_float(unsigned word) {
  return __uint_as_float(word & 0xFFFF0000u);
}

/// Chunk `at` of a row of A.
__device__ __forceinline__ Chunk load_kept(const Bf16* row, int at) {
  return reinterpret_cast<const Chunk*>(row)[at];
}

/// sums[m][row] += the products of eight columns.
__device__ __forceinline__ void add_products(float (&sums)[kMaxM][kRows], const Chunk& a, int m,
                                             const Chunk (&b)[kRows]) {
#pragma unroll
  for (int word = 0; word < 4; ++word) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      sums[m][row] = fmaf(low_float(a.word[word]), low_float(b[row].word[word]), sums[m][row]);
      sums[m][row] = fmaf(high_float(a.word[word]), high_float(b[row].word[word]), sums[m][row]);
    }
  }
}

__device__ __forceinline__ void gemv_block(const Bf16* a, const Bf16* b, Bf16* c, int m, int n,
                                           int k) {
  __shared__ float shared[kWarps][kMaxM * kRows];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int first_n = static_cast<int>(blockIdx.x) * kBlockRows + warp / kWarpsK * kRows;
  const int chunks = k / 8;
  constexpr int kStep = kWarpsK * 32;

  // Rows past the end are read from the last one, and their sums dropped.
  const Chunk* rows[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    rows[row] = reinterpret_cast<const Chunk*>(
        b + static_cast<long long>(smaller(first_n + row, n - 1)) * k);
  }
  float sums[kMaxM][kRows] = {};
  int at = warp % kWarpsK * 32 + lane;
#pragma unroll 1
  for (; at + (kUnroll - 1) * kStep < chunks; at += kUnroll * kStep) {
    Chunk b_chunks[kUnroll][kRows];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        b_chunks[i][row] = load_streamed(rows[row] + at + i * kStep);
      }
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
#pragma unroll
      for (int each = 0; each < kMaxM; ++each) {
        const Bf16* a_row = a + static_cast<long long>(smaller(each, m - 1)) * k;
        add_products(sums, load_kept(a_row, at + i * kStep), each, b_chunks[i]);
      }
    }
  }
#pragma unroll 1
  for (; at < chunks; at += kStep) {
    Chunk b_chunk[kRows];
#pragma unroll
    for (int row = 0; row < kRows; ++row) b_chunk[row] = load_streamed(rows[row] + at);
#pragma unroll
    for (int each = 0; each < kMaxM; ++each) {
      const Bf16* a_row = a + static_cast<long long>(smaller(each, m - 1)) * k;
      add_products(sums, load_kept(a_row, at), each, b_chunk);
    }
  }

#pragma unroll
  for (int each = 0; each < kMaxM; ++each) {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) {
        sums[each][row] += __shfl_xor_sync(0xFFFFFFFFu, sums[each][row], distance);
      }
      if (lane == 0) shared[warp][each * kRows + row] = sums[each][row];
    }
  }
  __syncthreads();
  // One thread for each element of the block's part of C.
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < kMaxM * kBlockRows; i += kThreads) {
    const int each = i / kBlockRows, row = i % kBlockRows;
    const int at_n = static_cast<int>(blockIdx.x) * kBlockRows + row;
    if (each >= m || at_n >= n) continue;
    float sum = 0;
#pragma unroll
    for (int part = 0; part < kWarpsK; ++part) {
      sum += shared[row / kRows * kWarpsK + part][each * kRows + row % kRows];
    }
    c[static_cast<long long>(each) * n + at_n].bits =
        static_cast<unsigned short>(pack(Bf16{}, sum, 0.0f));
  }
}
