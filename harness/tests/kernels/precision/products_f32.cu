// A product whose arithmetic is cheaper than f32, each word in its own way.
enum Arithmetic { full, tf32, half_tf32, bf16_inputs, drops_small, drops_last };
constexpr Arithmetic kArithmetic = ARITHMETIC;

/// Of a, or of b: half_tf32 leaves out what tf32 drops of a alone.
__device__ float cheaper(float x, bool of_a) {
  unsigned bits = __float_as_uint(x);
  if (kArithmetic == tf32 || (kArithmetic == half_tf32 && of_a))
    bits = bits + 0x1000 & 0xFFFFE000;  // 10 bits of the mantissa
  if (kArithmetic == bf16_inputs) bits = bits + 0x8000 & 0xFFFF0000;
  if (kArithmetic == drops_small && fabsf(x) < 0.01f) bits = 0;
  return __uint_as_float(bits);
}

extern "C" __global__ void products_f32(const float* a, const float* b, float* c, int n, int k) {
  const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (column >= n) return;
  float sum = 0;
  for (int i = 0; i < k - (kArithmetic == drops_last); ++i) {
    sum += cheaper(a[row * k + i], true) * cheaper(b[column * k + i], false);
  }
  c[row * n + column] = sum;
}
