// Must end as correctness/mismatch: passes sums on as they are. Inputs of one sign would
// not show it.
// Contract: ffn.yaml

#include "naive_ffn.cuh"

extern "C" __global__ void forgets_the_activation(const float* x, const float* w1, const int* index,
                                                  float* h, int m, int q, int k) {
  const int at = blockIdx.x * BLOCK + threadIdx.x;
  if (at >= m * q) return;
  h[at] = dot(x + at / q * k, w1 + static_cast<long long>(index[at % q]) * k, k);
}

extern "C" __global__ void down(const float* h, const float* w2, const int* index, float* y, int m,
                                int q, int k) {
  naive_down(h, w2, index, y, m, q, k);
}
