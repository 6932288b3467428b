// Must end as correctness/implausible: the answer is right, but the contract claims work that no
// GPU could have done in the time.
// Contract: add.yaml with
//   work: {flops: 1000000000000000, bytes: 12 * N}

extern "C" __global__ void too_fast(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
