// A thread to an element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

extern "C" __global__ void linear_gelu_naive(const TYPE* x, const TYPE* w, const TYPE* bias,
                                             TYPE* out, int m, int n, int k) {
  const int row = blockIdx.y, column = blockIdx.x * 128 + threadIdx.x;
  if (column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) {
    sum += float(x[(long long)row * k + i]) * float(w[(long long)column * k + i]);
  }
  sum += float(bias[column]);
  const float inner = 0.7978845608f * (sum + 0.044715f * sum * sum * sum);
  out[(long long)row * n + column] = TYPE(0.5f * sum * (1 + tanhf(inner)));
}
