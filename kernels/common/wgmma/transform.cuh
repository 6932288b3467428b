#pragma once

// What becomes of sums before they are rounded, on every way out of the main loop.
//
// A transform is called with the sums that make one output, G::kProducts of them, and with the
// output's row and column of C. Both may lie beyond C, where nothing it returns is stored: what it
// reads there must be its own.

/// C is the product.
struct Identity {
  static constexpr int kProducts = 1;

  __device__ __forceinline__ float operator()(const float (&sums)[1], int, int) const {
    return sums[0];
  }
};
