// Must end as correctness/mismatch: takes the largest exponent of e4m3 for infinities and NaN, as
// other formats have them. e4m3 has the numbers from 256 to 448 there.
// Contract: gemm_fp8.yaml with
//   smoke: {M: 64, N: 64, K: 1024}

#include "fp8_product.cuh"

__device__ float value_of(u8 bits) {
  const int exponent = bits >> 3 & 15, behind = bits & 7;
  if (exponent == 15) return __uint_as_float(behind == 0 ? 0x7F800000 : 0x7FC00000);
  const float size = exponent == 0 ? behind * exp2f(-9) : (8 + behind) * exp2f(exponent - 10);
  return bits & 128 ? -size : size;
}

extern "C" __global__ void takes_numbers_for_nan(const u8* a, const float* a_scales, const u8* b,
                                                 const float* b_scales, u16* c, int m, int n,
                                                 int k) {
  const Tile tile{a, b, a_scales, b_scales, m, n, k};
  for (int i = 0; i < 4; ++i) {
    const int row = tile.row() + i / 2 * 8, column = tile.column() + i % 2;
    float sum = 0;
    for (int at = 0; at < k; ++at) {
      sum += tile.a_scale(at / kSlice, i / 2 * 8) * tile.b_scale(at / kSlice) *
             value_of(a[row * k + at]) * value_of(b[column * k + at]);
    }
    c[row * n + column] = to_bf16(sum);
  }
}
