// Must end as timeout: the first thread waits for a value that never comes.

extern "C" __global__ void endless_loop(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  const volatile float* flag = c;
  while (i == 0 && flag[n - 1] != 12345.0f) {
  }
  if (i > 0 && i < n - 1) c[i] = a[i] + b[i];
}
