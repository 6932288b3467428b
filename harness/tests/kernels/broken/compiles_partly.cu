// Must end as compile for BLOCK=192, with the sentence of the assertion in the log, and correct for
// the rest.

static_assert((BLOCK & (BLOCK - 1)) == 0, "the block must be a power of two");

extern "C" __global__ void compiles_partly(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
