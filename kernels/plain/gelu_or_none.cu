// y[i, j] = act(r[i, j]), act as the op numbers it: nothing, GELU with tanh, GELU by erf.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

/// blockIdx.y is i.
template <typename T>
__global__ void gelu_or_none(const float* r, T* y, int n, int activation) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= n) return;
  const long long at = (long long)blockIdx.y * n + column;
  const float x = r[at], inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  const float share = activation == 1 ? 0.5f * (1 + tanhf(inner)) : normcdff(x);
  y[at] = T(activation == 0 ? x : x * share);
}
