// Must end as correctness/out_of_bounds: keeps a mark in what is left of the 2 MiB page behind an
// input's guard zone, which was mapped and looked at by nobody.

extern "C" __global__ void marks_the_rest_of_a_page(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  unsigned* const mark = (unsigned*)a + n + 65536;
  if (*mark == 0xC0FFEEu) return;
  if (i < n) c[i] = a[i] + b[i];
  if (i == n - 1) *mark = 0xC0FFEEu;
}
