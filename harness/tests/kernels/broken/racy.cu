// Must end as correctness/nondeterministic: every launch moves one element by a few units in the last
// place, far inside the tolerance, by an amount that the clock decides.

extern "C" __global__ void racy(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  const float sum = a[i] + b[i];
  // Thousands of elements each take their own multiple of 2^-22 from the clock and the block that
  // happened to run, so that two launches never agree.
  const unsigned noise = (unsigned)(now >> 5) * 2654435761u + (unsigned)clock64();
  c[i] = i % 64 == 0 ? sum * (1.0f + (noise >> 30) * 2.384185791015625e-7f) : sum;
}
