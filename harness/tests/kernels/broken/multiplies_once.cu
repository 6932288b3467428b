// Must end as correctness/mismatch: normalises floats and multiplies them as tf32 once, where only
// three such products are as good as one of fp32.
// Contract: ln_linear.yaml

#include "naive_norm.cuh"

/// Ten bits behind the point.
__device__ float to_tf32(float x) {
  return __uint_as_float(__float_as_uint(x) + 0x1000 & 0xFFFFE000);
}

extern "C" __global__ void multiplies_once(const float* x, const float* w, float* y, int n, int k) {
  x += blockIdx.x * k;
  const Norm norm = norm_of(x, k);
  for (int column = threadIdx.x; column < n; column += 256) {
    float sum = 0;
    for (int i = 0; i < k; ++i) {
      sum += to_tf32((x[i] - norm.mean) * norm.scale) * to_tf32(w[column * k + i]);
    }
    y[blockIdx.x * n + column] = sum;
  }
}
