// p[i] = x[rows[i]], 16 bytes at a time: what is run ahead of a grouped product of rows that a list
// names. A block a row; K is a macro, a multiple of 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

template <typename T>
__global__ void gather_rows(const T* x, const int* rows, T* p) {
  const int4* from = (const int4*)(x + (long long)rows[blockIdx.x] * K);
  int4* to = (int4*)(p + (long long)blockIdx.x * K);
  for (int at = threadIdx.x; at < K / 8; at += blockDim.x) to[at] = from[at];
}
