// Must end as correctness/mismatch: one element in a hundred thousand is off by a tenth.

extern "C" __global__ void wrong_value(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i] + (i == n / 3 ? 0.1f : 0.0f);
}
