// h[i, j] = silu(p[i, j]) * p[i, N + j]: what is run after one product with both weights of a gated
// MLP. 16 bytes at a time, at the memory's speed. M and N are macros, N a multiple of 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

template <typename T>
struct alignas(16) Eight {
  T of[8];
};

template <typename T>
__global__ void swiglu(const T* p, T* h) {
  const long long at = (blockIdx.x * 256ll + threadIdx.x) * 8;
  if (at >= (long long)M * N) return;
  const T* row = p + at / N * 2 * N + at % N;
  const auto gate = *(const Eight<T>*)row;
  const auto up = *(const Eight<T>*)(row + N);
  Eight<T> out;
  for (int i = 0; i < 8; ++i) {
    const float g = gate.of[i];
    out.of[i] = T(g / (1 + __expf(-g)) * float(up.of[i]));
  }
  *(Eight<T>*)(h + at) = out;
}
