// What `convolution` must compute: one thread for each output.
extern "C" __global__ void convolve(const float* image, const float* taps, float* out) {
  const int row = blockIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= N - 4) return;
  double sum = 0;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      sum += (double)taps[i * 5 + j] * image[(long long)(row + i) * N + column + j];
    }
  }
  out[(long long)row * (N - 4) + column] = sum;
}
