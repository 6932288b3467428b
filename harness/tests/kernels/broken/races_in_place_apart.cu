// What `races_in_place` must compute: from a copy, so that no thread reads what another wrote.
extern "C" __global__ void copy(const float* x, float* before) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < N) before[i] = x[i];
}

extern "C" __global__ void smooth(const float* before, float* x) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= N) return;
  const double left = i > 0 ? before[i - 1] : 0, right = i + 1 < N ? before[i + 1] : 0;
  x[i] = (float)(0.5 * before[i] + 0.25 * (left + right));
}
