// y[t] = sum over j of weights[t, j] * p[places[t, j]], 16 bytes at a time: what is run after a
// grouped product. M, N and TOP are macros, N a multiple of 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

template <typename T>
struct alignas(16) Eight {
  T of[8];
};

template <typename T>
__global__ void topk_sum(const T* p, const float* weights, const int* places, T* y) {
  const long long at = (blockIdx.x * 256ll + threadIdx.x) * 8;
  if (at >= (long long)M * N) return;
  const long long token = at / N;
  float sums[8] = {};
  for (int j = 0; j < TOP; ++j) {
    const long long row = places[token * TOP + j];
    const auto eight = *(const Eight<T>*)(p + row * N + at % N);
    for (int i = 0; i < 8; ++i) sums[i] += weights[token * TOP + j] * float(eight.of[i]);
  }
  Eight<T> out;
  for (int i = 0; i < 8; ++i) out.of[i] = T(sums[i]);
  *(Eight<T>*)(y + at) = out;
}
