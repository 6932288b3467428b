// A block of 256 threads for each row, as frameworks do it, with CUB's maximum and sum.
#include <cub/block/block_reduce.cuh>

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// The sizes are its template's, since a macro called N would break CUB.
template <int M, int N>
__global__ void softmax(const float* x, float* out) {
  using Reduce = cub::BlockReduce<float, 256>;
  __shared__ typename Reduce::TempStorage storage;
  __shared__ float most, sum;
  x += (long long)blockIdx.x * N;
  out += (long long)blockIdx.x * N;
  float mine = -INFINITY;
  for (int i = threadIdx.x; i < N; i += 256) mine = fmaxf(mine, x[i]);
  mine = Reduce(storage).Reduce(mine, Larger());
  if (threadIdx.x == 0) most = mine;
  __syncthreads();
  mine = 0;
  for (int i = threadIdx.x; i < N; i += 256) mine += expf(x[i] - most);
  mine = Reduce(storage).Sum(mine);
  if (threadIdx.x == 0) sum = mine;
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += 256) out[i] = expf(x[i] - most) / sum;
}
