// Must end as correctness/out_of_bounds: keeps a mark that the work is done in front of an input,
// where no launch of its own would notice.

extern "C" __global__ void marks_a_guard_zone(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  unsigned* const mark = (unsigned*)a - 64;
  if (*mark == 0xC0FFEEu) return;
  if (i < n) c[i] = a[i] + b[i];
  if (i == n - 1) *mark = 0xC0FFEEu;
}
