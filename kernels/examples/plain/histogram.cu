// The histogram of the textbooks: one in shared memory for each block, added up at the end.
extern "C" __global__ void count(const unsigned char* values, unsigned* counts) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < N; i += gridDim.x * 256) {
    atomicAdd(&mine[values[i]], 1);
  }
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}
