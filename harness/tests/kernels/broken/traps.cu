// Must end as runtime/trap: the last block executes a trap.

extern "C" __global__ void traps(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x) __trap();
  if (i < n) c[i] = a[i] + b[i];
}
