// Must end as correct: reads behind the end of A and makes no use of it, as a loop that loads one tile
// too many. Refused by the last checks of a re-rank, where nothing lies behind an input.

extern "C" __global__ void reads_behind_an_input(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  if (i == 0 && a[n + 1000] == 1e30f) c[0] = 0;
}
