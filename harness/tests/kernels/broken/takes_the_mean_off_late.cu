// Must end as correctness/mismatch: multiplies rows as they are and takes the mean off after that,
// which is right in bf16 (kernels/ln_linear_gelu.cu), whose rows cannot be as far from zero as
// these. What fp32 has dropped by then is larger than what may be wrong.
// Contract: ln_linear.yaml with
//     - {name: X, dtype: f32, shape: [M, K], role: in, fill: {name: normal, mean: 1000}}

#include "naive_norm.cuh"

extern "C" __global__ void takes_the_mean_off_late(const float* x, const float* w, float* y, int n,
                                                   int k) {
  x += blockIdx.x * k;
  const Norm norm = norm_of(x, k);
  for (int column = threadIdx.x; column < n; column += 256) {
    float sum = 0, of_weights = 0;
    for (int i = 0; i < k; ++i) {
      sum += x[i] * w[column * k + i];
      of_weights += w[column * k + i];
    }
    y[blockIdx.x * n + column] = (sum - norm.mean * of_weights) * norm.scale;
  }
}
