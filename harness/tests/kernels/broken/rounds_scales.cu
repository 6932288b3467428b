// Must end as correctness/mismatch: rounds the scales to bf16. The output is rounded so, too, but
// an element that is nearly 0 is the sum of parts that are not.
// Contract: gemm_fp8.yaml

#include "fp8_product.cuh"

__device__ float rounded(float x) { return __uint_as_float((unsigned)to_bf16(x) << 16); }

extern "C" __global__ void rounds_scales(const u8* a, const float* a_scales, const u8* b,
                                         const float* b_scales, u16* c, int m, int n, int k) {
  const Tile tile{a, b, a_scales, b_scales, m, n, k};
  multiply_slices(
      tile, c, [&](int slice, int below) { return rounded(tile.a_scale(slice, below)); },
      [&](int slice) { return rounded(tile.b_scale(slice)); });
}
