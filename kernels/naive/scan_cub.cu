// A block of 256 threads to a row, with CUB's scan.
#include <cub/block/block_scan.cuh>

template <int N>
__global__ void scan(const int* x, int* out) {
  using Scan = cub::BlockScan<int, 256>;
  __shared__ typename Scan::TempStorage storage;
  x += (long long)blockIdx.x * N;
  out += (long long)blockIdx.x * N;
  int ahead = 0;
  for (int begin = 0; begin < N; begin += 256) {
    const int i = begin + threadIdx.x;
    int value = i < N ? x[i] : 0, total;
    Scan(storage).InclusiveSum(value, value, total);
    if (i < N) out[i] = ahead + value;
    ahead += total;
    __syncthreads();
  }
}
