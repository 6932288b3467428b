#pragma once

// A sparse feed-forward layer a thread an output, for those that break one step of it. F neurons,
// of which `index` names the Q active ones; fp32.

__device__ float dot(const float* a, const float* b, int k) {
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[i] * b[i];
  return sum;
}

/// Y[M,K]: adds up the active rows of W2, each times its column of H[M,Q].
__device__ void naive_down(const float* h, const float* w2, const int* index, float* y, int m,
                           int q, int k) {
  const int at = blockIdx.x * BLOCK + threadIdx.x;
  if (at >= m * k) return;
  float sum = 0;
  for (int i = 0; i < q; ++i) {
    sum += h[at / k * q + i] * w2[static_cast<long long>(index[i]) * k + at % k];
  }
  y[at] = sum;
}
