// Must end as correct: reads what an earlier launch of its own left in shared memory. It finds
// nothing there, so its time is honest.
// Contract: add_i32.yaml

extern "C" __global__ void reads_stale_shared_memory(const int* a, const int* b, int* c, int n) {
  __shared__ volatile int kept[2 * BLOCK];
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  if (kept[threadIdx.x] == (i ^ 0x5EC2E7)) {
    c[i] = kept[BLOCK + threadIdx.x];
    return;
  }
  c[i] = a[i] + b[i];
  kept[threadIdx.x] = i ^ 0x5EC2E7;
  kept[BLOCK + threadIdx.x] = c[i];
}
