// Must end as correctness/mismatch: reads rows 0 to Q - 1 of the first weights, as
// if the list were sorted and had no gaps.
// Contract: ffn.yaml

#include "naive_ffn.cuh"

extern "C" __global__ void takes_the_first_neurons(const float* x, const float* w1,
                                                   const int* index, float* h, int m, int q,
                                                   int k) {
  const int at = blockIdx.x * BLOCK + threadIdx.x;
  if (at >= m * q) return;
  const float* row = w1 + static_cast<long long>(at % q) * k;
  h[at] = fmaxf(dot(x + at / q * k, row, k), 0.0f);
}

extern "C" __global__ void down(const float* h, const float* w2, const int* index, float* y, int m,
                                int q, int k) {
  naive_down(h, w2, index, y, m, q, k);
}
