// Must end as correct: reads the element ahead of A and makes no use of it. Refused by the last checks
// of a re-rank, where nothing lies ahead of an input.

extern "C" __global__ void reads_ahead_of_an_input(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  if (i == 0 && a[-1] == 1e30f) c[0] = 0;
}
