// The transpose of the textbooks: a tile of 32 x 32 in shared memory, with a column of padding.
extern "C" __global__ void transpose(const float* x, float* out) {
  __shared__ float tile[32][33];
  const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (column < N && row + i < M) {
      tile[threadIdx.y + i][threadIdx.x] = x[(long long)(row + i) * N + column];
    }
  }
  __syncthreads();
  const int out_column = blockIdx.y * 32 + threadIdx.x, out_row = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (out_column < M && out_row + i < N) {
      out[(long long)(out_row + i) * M + out_column] = tile[threadIdx.x][threadIdx.y + i];
    }
  }
}
