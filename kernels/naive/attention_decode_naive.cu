// A block to a head and a thread to a column, with the softmax scaled anew at each larger score.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using bf16 = __nv_bfloat16;
using f16 = __half;

template <typename Type, typename Real>
__global__ void attend(const Type* q, const Type* keys, const Type* values, Type* out, int s,
                       int d) {
  __shared__ Real parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Real mine = Real(float(q[blockIdx.x * d + threadIdx.x]));
  Real most = -1e30, sum = 0, total = 0;
  for (int i = 0; i < s; ++i) {
    const long long at = ((long long)blockIdx.x * s + i) * d + threadIdx.x;
    Real score = mine * Real(float(keys[at]));
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(~0u, score, step);
    if (lane == 0) parts[warp] = score;
    __syncthreads();
    score = 0;
    for (int other = 0; other < d / 32; ++other) score += parts[other];
    __syncthreads();
    score /= sqrt(Real(d));
    const Real next = score > most ? score : most;
    const Real kept = exp(most - next), weight = exp(score - next);
    sum = sum * kept + weight;
    total = total * kept + weight * Real(float(values[at]));
    most = next;
  }
  out[blockIdx.x * d + threadIdx.x] = Type(float(total / sum));
}
