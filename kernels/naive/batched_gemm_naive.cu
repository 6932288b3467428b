// A thread to an element, with sums in fp32.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

template <typename Type>
__global__ void multiply(const Type* a, const Type* w, Type* c, int m, int n, int k) {
  const int row = blockIdx.y, column = blockIdx.x * 128 + threadIdx.x;
  if (column >= n) return;
  a += ((long long)blockIdx.z * m + row) * k;
  w += ((long long)blockIdx.z * n + column) * k;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += float(a[i]) * float(w[i]);
  c[((long long)blockIdx.z * m + row) * n + column] = Type(sum);
}
