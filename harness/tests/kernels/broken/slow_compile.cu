// Must end as compile/timeout when the compiler is given a second: thousands of dependent unrolled
// steps.
// Contract: add.yaml with
//   params: {BLOCK: [128]}

extern "C" __global__ void slow_compile(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  float x = a[i];
#pragma unroll
  for (int outer = 0; outer < 100; ++outer) {
#pragma unroll
    for (int inner = 0; inner < 100; ++inner)
      x = x * b[(i ^ inner) % n] + a[(i + outer * inner) % n];
  }
  c[i] = a[i] + b[i] + (x > 0.0f ? 0.0f : 0.0f * x);
}
