// Must end as correct: the launch that prepares fetches the inputs into L2, to stay there when other
// lines are evicted. A timed launch then found them, and looked up to 14 % faster than with a cold
// cache. With KEEP=0 nothing is fetched, and the time is the same.
// Contract: add.yaml with
//     - {name: done, dtype: u32, shape: [BLOCK], role: prepared}
//   params: {BLOCK: [256], KEEP: [1, 0]}
//   prepare:
//     - {entry: fetch, grid: [blocks], block: [BLOCK], args: [A, B, done, N]}
//   launches: [{grid: [blocks], block: [BLOCK], args: [A, B, C, N]}]

extern "C" __global__ void fetch(const float* a, const float* b, unsigned* done, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < BLOCK) done[i] = 1;
  if (KEEP == 0 || i >= n || i % 32 != 0) return;
  for (const float* data : {a + i, b + i}) {
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(data));
  }
}

extern "C" __global__ void keeps_inputs_in_cache(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
