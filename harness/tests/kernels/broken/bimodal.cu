// Must end as correct, and its times fall into two groups, 50 us and 100 us, about one launch in two.

extern "C" __global__ void bimodal(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  if (i != 0) return;
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  const unsigned long long wait_ns = begin >> 14 & 1 ? 50000 : 100000;  // the clock tosses the coin
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < wait_ns);
}
