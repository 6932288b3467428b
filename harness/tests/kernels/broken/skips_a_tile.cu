// Must end as correctness/unwritten: the last block writes nothing.

extern "C" __global__ void skips_a_tile(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x) return;
  if (i < n) c[i] = a[i] + b[i];
}
