// Must end as correct: alone it is right. Two launches at once take each other's tiles.

__device__ unsigned next_tile, blocks_done;

extern "C" __global__ void shares_a_counter(const float* a, const float* b, float* c, int n) {
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1u);
  __syncthreads();
  // Long enough that two launches meet.
  const long long begin = clock64();
  while (clock64() - begin < 20000) {
  }
  const int i = tile * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&blocks_done, 1u) == gridDim.x - 1) next_tile = blocks_done = 0;
}
