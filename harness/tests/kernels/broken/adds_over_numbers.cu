// Must end as correctness/mismatch: adds to what its output holds, unless that is poison. It is right
// whenever each launch begins with poison.

extern "C" __global__ void adds_over_numbers(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = (isfinite(c[i]) ? c[i] : 0.0f) + a[i] + b[i];
}
