// Must end as correct, and its times fall into two groups, 50 us and 100 us, about one launch in two.
// Contract: add.yaml with
//   params: {BLOCK: [256]}

extern "C" __global__ void bimodal(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  if (i != 0) return;
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  // The clock tosses the coin: the last bits of a count of cycles, mixed.
  const bool slow = (unsigned long long)clock64() * 0x9E3779B97F4A7C15ull >> 63;
  const unsigned long long wait_ns = slow ? 100000 : 50000;
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - begin < wait_ns);
}
