// A block to a row, in three passes: the mean, the deviation, the result.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;
using f32 = float;

__device__ float sum_of_block(float value) {
  __shared__ float parts[128];
  parts[threadIdx.x] = value;
  for (int step = 64; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
  }
  __syncthreads();
  const float sum = parts[0];
  __syncthreads();
  return sum;
}

extern "C" __global__ void layer_norm_naive(const TYPE* x, const TYPE* weight, const TYPE* bias,
                                            TYPE* out, int m, int n) {
  const long long row = (long long)blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < n; i += 128) sum += float(x[row + i]);
  const float mean = sum_of_block(sum) / n;
  for (int i = threadIdx.x; i < n; i += 128) {
    const float off = float(x[row + i]) - mean;
    squares += off * off;
  }
  const float scale = rsqrtf(sum_of_block(squares) / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += 128) {
    const float value = (float(x[row + i]) - mean) * scale;
    out[row + i] = TYPE(value * float(weight[i]) + float(bias[i]));
  }
}
