// Must end as correctness: reads what an earlier launch of its own left in local memory, which nobody
// clears. The inputs are integers. They were the same in all launches, and so was the sum.
// Contract: add_i32.yaml

extern "C" __global__ void remembers_in_local_memory(const int* a, const int* b, int* c, int n) {
  volatile int kept[256];
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  const int place = i % 128;
  if (kept[place] == (i ^ 0x5EC2E7)) {
    c[i] = kept[place + 128];
    return;
  }
  c[i] = a[i] + b[i];
  kept[place] = i ^ 0x5EC2E7;
  kept[place + 128] = c[i];
}
