// y[i] = q[i] * P(X <= q[i]) of a normal X: what is run after a product. 16 bytes at a time, at the
// memory's speed. M and N are macros, M * N a multiple of 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

template <typename T>
struct alignas(16) Eight {
  T of[8];
};

template <typename T>
__global__ void gelu(const T* q, T* y) {
  const long long at = (blockIdx.x * 256ll + threadIdx.x) * 8;
  if (at >= (long long)M * N) return;
  auto eight = *(const Eight<T>*)(q + at);
  for (int i = 0; i < 8; ++i) {
    const float x = eight.of[i];
    eight.of[i] = T(x * normcdff(x));
  }
  *(Eight<T>*)(y + at) = eight;
}
