// Must end as compile/timeout when the compiler is given a second: thousands of dependent unrolled steps.

extern "C" __global__ void slow_compile(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  float x = a[i];
#pragma unroll
  for (int step = 0; step < 30000; ++step) x = x * b[(i ^ step) % n] + a[(i + step * 7) % n];
  c[i] = a[i] + b[i] + (x > 0.0f ? 0.0f : 0.0f * x);
}
