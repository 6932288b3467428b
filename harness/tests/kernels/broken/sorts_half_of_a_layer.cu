// Must end as correctness/mismatch: takes the neurons in rising order in the first product,
// and as they are listed in the second. On a sorted list nobody would see it.
// Contract: ffn.yaml with
//     - {name: sorted, dtype: i32, shape: [Q], role: in, fill: {sorted: index}}
//   launches:
//     - {grid: ["cdiv(M * Q, BLOCK)"], block: [BLOCK], args: [X, W1, sorted, H, M, Q, K]}
//     - {entry: down, grid: ["cdiv(M * K, BLOCK)"], block: [BLOCK],
//        args: [H, W2, index, Y, M, Q, K]}

#include "naive_ffn.cuh"

extern "C" __global__ void sorts_half_of_a_layer(const float* x, const float* w1, const int* index,
                                                 float* h, int m, int q, int k) {
  const int at = blockIdx.x * BLOCK + threadIdx.x;
  if (at >= m * q) return;
  h[at] = fmaxf(dot(x + at / q * k, w1 + static_cast<long long>(index[at % q]) * k, k), 0.0f);
}

extern "C" __global__ void down(const float* h, const float* w2, const int* index, float* y, int m,
                                int q, int k) {
  naive_down(h, w2, index, y, m, q, k);
}
