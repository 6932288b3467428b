// A product whose arithmetic is cheaper than bf16 with sums in f32, each word in its own way.
enum Arithmetic { full, fp8, f16_sums, bf16_sums, drops_small, drops_last };
constexpr Arithmetic kArithmetic = ARITHMETIC;

__device__ unsigned short to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  return (unsigned short)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

__device__ float from_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

__device__ float cheaper(unsigned short bits) {
  const float x = from_bf16(bits);
  if (kArithmetic == drops_small && fabsf(x) < 0.05f) return 0;
  // Three bits of the mantissa, as in e4m3.
  if (kArithmetic == fp8) return __uint_as_float(__float_as_uint(x) + 0x80000 & 0xFFF00000);
  return x;
}

/// The sum as the accumulator keeps it.
__device__ float kept(float sum) {
  if (kArithmetic == bf16_sums) return from_bf16(to_bf16(sum));
  if (kArithmetic != f16_sums) return sum;
  unsigned short half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(sum));
  asm("cvt.f32.f16 %0, %1;" : "=f"(sum) : "h"(half));
  return sum;
}

extern "C" __global__ void products_bf16(const unsigned short* a, const unsigned short* b,
                                         unsigned short* c, int n, int k) {
  const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (column >= n) return;
  float sum = 0, part = 0;
  for (int i = 0; i < k - (kArithmetic == drops_last); ++i) {
    part += cheaper(a[row * k + i]) * cheaper(b[column * k + i]);
    if (i % 16 != 15 && i != k - 1) continue;  // a tensor core rounds after 16 products
    sum = kept(sum + part);
    part = 0;
  }
  c[row * n + column] = to_bf16(sum + part);
}
