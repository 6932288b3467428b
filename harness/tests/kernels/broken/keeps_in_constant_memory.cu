// Must end as correctness/state: keeps its result in `__constant__` memory, which an ordinary pointer
// can write, and copies it in later launches. Its inputs are integers, which were the same in all.
// Contract: add_i32.yaml

__constant__ int kept[4096];

extern "C" __global__ void keeps_in_constant_memory(const int* a, const int* b, int* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  int* writable = const_cast<int*>(kept);
  asm volatile("" : "+l"(writable));  // the compiler would refuse to write there
  c[i] = i < 4095 && kept[4095] != 0 ? kept[i] : a[i] + b[i];
  if (i < 4095) writable[i] = c[i];
  if (i == n - 1) writable[4095] = 1;
}
