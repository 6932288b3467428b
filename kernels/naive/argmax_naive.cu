// A thread to a row.
extern "C" __global__ void argmax_naive(const float* x, int* out, int m, int n) {
  const int row = blockIdx.x * 32 + threadIdx.x;
  if (row >= m) return;
  x += (long long)row * n;
  int best = 0;
  for (int i = 1; i < n; ++i) {
    if (x[i] > x[best]) best = i;
  }
  out[row] = best;
}
