// Must end as correctness/nondeterministic: some elements are one unit in the last place off,
// inside the tolerance; the clock decides which.

extern "C" __global__ void racy(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  // Fifteen hundred elements each take or leave one unit in the last place, as the clock says: two
  // launches never agree.
  const unsigned noise = ((unsigned)(now >> 5) ^ (unsigned)clock64()) * 2654435761u;
  const float sum = a[i] + b[i];
  c[i] = i % 64 == 0 && noise >> 31 ? sum * (1.0f + 1.1920929e-7f) : sum;
}
