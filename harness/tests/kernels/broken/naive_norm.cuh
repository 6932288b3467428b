#pragma once

// Layer norm and a product, for broken kernels: a block of 256 threads a row.

/// The sum over a block, in each of its threads.
__device__ inline float sum_of_block(float x) {
  __shared__ float partial[8];
  __syncthreads();
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
  __syncthreads();
  x = 0;
  for (const float part : partial) x += part;
  return x;
}

struct Norm {
  float mean;
  float scale;
};

__device__ inline Norm norm_of(const float* x, int k) {
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < k; i += 256) sum += x[i];
  const float mean = sum_of_block(sum) / k;
  for (int i = threadIdx.x; i < k; i += 256) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, rsqrtf(sum_of_block(squares) / k + 1e-5f)};
}
