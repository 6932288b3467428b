// A block to a row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;
using f32 = float;

template <typename Type>
__global__ void embed(const Type* table, const int* index, Type* out, int n) {
  const Type* from = table + (long long)index[blockIdx.x] * n;
  for (int i = threadIdx.x; i < n; i += 128) out[(long long)blockIdx.x * n + i] = from[i];
}
