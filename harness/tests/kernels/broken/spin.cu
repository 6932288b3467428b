// Must end as correct, in SPIN_US microseconds plus a launch: the instrument must read that
// duration.

extern "C" __global__ void spin(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  if (i != 0) return;
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < SPIN_US * 1000ull);
}
