// Must end as correctness: the clock decides whether it works, so half of its launches are fast. No
// launch that is timed is known not to be checked.

extern "C" __global__ void skips_by_the_clock(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (now >> 16 & 1) return;
  if (i < n) c[i] = a[i] + b[i];
}
