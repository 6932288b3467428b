// Must end as correct: keeps a number behind its output for a moment and puts back what was there.
// Refused by the last checks of a re-rank, where nothing lies behind the output.

extern "C" __global__ void borrows_behind_its_output(const float* a, const float* b, float* c,
                                                     int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  if (i != n - 1) return;
  for (int k = 0; k < 64; ++k) {
    volatile float* const place = c + n + k;
    const float before = *place;
    *place = a[0];
    *place = before;
  }
}
