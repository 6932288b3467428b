// Must end as correctness/mismatch: where its output already holds numbers it does half of the work,
// so that its time is still plausible.

extern "C" __global__ void halves_over_numbers(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  const bool done = isfinite(c[i]);
  if (!done || i % 2 == 0) c[i] = a[i] + b[i];
}
