// Must end as correctness/state: counts its launches and does nothing from the sixth on.

__device__ unsigned blocks_begun;

extern "C" __global__ void stops_after_some(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  __shared__ unsigned before;
  if (threadIdx.x == 0) before = atomicAdd(&blocks_begun, 1u);
  __syncthreads();
  if (before >= 5u * gridDim.x) return;
  if (i < n) c[i] = a[i] + b[i];
}
