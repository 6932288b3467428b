// The second weights of a sparse FFN whose activation is nowhere 0. K is a macro, a multiple of 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

/// A block a row of w2[gridDim.x,K]: a copy, or zeros where the list does not name the neuron. The
/// list names `block` neurons side by side with each entry.
template <typename T>
__global__ void active_rows(const T* w2, const int* index, T* open, int active, int block) {
  const int neuron = blockIdx.x;
  int named = 0;
  for (int at = threadIdx.x; at < active / block; at += blockDim.x) {
    named |= index[at] == neuron / block;
  }
  named = __syncthreads_or(named);
  const long long row = (long long)neuron * K;
  for (int at = threadIdx.x; at < K; at += blockDim.x) {
    open[row + at] = named ? w2[row + at] : T(0.0f);
  }
}
