// Must end as correctness/mismatch: takes the scale of the next block of A for each block.
// Contract: gemm_fp8.yaml

#include "fp8_product.cuh"

extern "C" __global__ void takes_the_next_scale(const u8* a, const float* a_scales, const u8* b,
                                                const float* b_scales, u16* c, int m, int n,
                                                int k) {
  const Tile tile{a, b, a_scales, b_scales, m, n, k};
  multiply_slices(
      tile, c,
      [&](int slice, int below) { return tile.a_scale((slice + 1) % tile.slices(), below); },
      [&](int slice) { return tile.b_scale(slice); });
}
