// A sum with CUB's parts, in two launches. The size is its template's, since a macro called N would
// break CUB.
#include <cub/block/block_reduce.cuh>

constexpr int kThreads = 256;

__device__ void sum_of(const float* x, float* out, long long count) {
  using Reduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  float mine = 0;
  for (long long i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    mine += x[i];
  }
  const float all = Reduce(storage).Sum(mine);
  if (threadIdx.x == 0) out[blockIdx.x] = all;
}

template <long long N>
__global__ void parts(const float* x, float* partial) {
  sum_of(x, partial, N);
}

template <long long N>
__global__ void whole(const float* partial, float* out) {
  sum_of(partial, out, PARTS);
}
