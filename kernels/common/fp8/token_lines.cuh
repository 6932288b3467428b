#pragma once

// The epilogue of a block-scaled product of 16 bits with tokens on the wide side: whole lines
// through shared memory (experts/store_tokens.cuh).

#include "common/experts/store_tokens.cuh"
#include "common/fp8/block.cuh"

/// `rows`, by way of 4096 bytes of shared memory for each warpgroup, from `staging` on.
template <typename Element>
struct TokenLines {
  Output<Element> rows;
  int staging;
};

template <typename G, typename Element>
struct WayOut<G, TokenLines<Element>> {
  using Store = StoreTokens<G, Output<Element>>;

  const TokenLines<Element>& output;
  unsigned char* smem;
  const Work& work;
  int rank;
  int warpgroup;
  int end_m;
  bool live;

  __device__ __forceinline__ void store_rows(const Accumulators<G>& sums, int i,
                                             const Corner& corner) const {
    unsigned char* const staging = smem + output.staging + warpgroup * Store::kBytes;
    Store{output.rows, end_m, staging, 3 + warpgroup}(
        sums, i, corner.m, corner.n + (warpgroup * G::kLongTiles + i) * 64);
  }
};

/// Where sums of an expert's tiles go: rows of C, n columns, a multiple of 8.
template <typename G, typename Element>
__device__ __forceinline__ auto expert_rows(Element* c, int n, int staging) {
  __builtin_assume(n % 8 == 0);  // or StoreRows (wgmma/stores.cuh) has a second way, as large
  const Output<Element> rows = {c, n, nullptr, nullptr};
  if constexpr (G::kSwap) {
    return TokenLines<Element>{rows, staging};
  } else {
    return rows;
  }
}
