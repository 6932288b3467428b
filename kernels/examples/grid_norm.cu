// A norm of a whole vector in one launch. The blocks add up their parts, wait for each other, and
// divide.
#include <cooperative_groups.h>

constexpr int kBlock = BLOCK;
static_assert(kBlock % 32 == 0 && kBlock <= 1024, "a block is 1 to 32 whole warps");

// The sum over the block, in all of its threads.
__device__ float block_sum(float value) {
  __shared__ float sums[32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < kBlock / 32 ? sums[threadIdx.x % 32] : 0;
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

extern "C" __global__ void __launch_bounds__(kBlock)
    grid_norm(const float* x, float* partial, float* y, int n) {
  const int first = blockIdx.x * kBlock + threadIdx.x, stride = gridDim.x * kBlock;
  float sum = 0;
  for (int i = first; i < n; i += stride) sum += x[i] * x[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  cooperative_groups::this_grid().sync();
  sum = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += kBlock) sum += partial[i];
  const float scale = rsqrtf(block_sum(sum) / n + 1e-5f);
  for (int i = first; i < n; i += stride) y[i] = x[i] * scale;
}
