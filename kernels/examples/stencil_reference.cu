// What a step of `stencil` must compute: one thread for each point.
extern "C" __global__ void step(const float* from, float* to) {
  const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= N) return;
  const float* at = from + (long long)row * N + column;
  double made = *at;
  if (row > 0 && row < M - 1 && column > 0 && column < N - 1) {
    made += 0.125 * ((double)at[-N] + at[N] + at[-1] + at[1] - 4.0 * *at);
  }
  to[(long long)row * N + column] = made;
}
