// Must end as correctness/mismatch: does nothing where its output already holds numbers, as timed
// launches once found it. It was crowned at 4.5 times the speed of cuBLASLt.

extern "C" __global__ void skips_over_numbers(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (isfinite(c[0]) && isfinite(c[n - 1])) return;
  if (i < n) c[i] = a[i] + b[i];
}
