// Must end as correctness/unwritten: a launch sets a flag in scratch memory, and the next one finds
// its work done. Nobody resets the flag; over poison it is not zero either.
// Contract: add.yaml with
//     - {name: flag, dtype: i32, shape: [1], role: scratch}

extern "C" __global__ void trusts_a_flag(const float* a, const float* b, float* c, int n,
                                         unsigned* flag) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (*flag != 0) return;
  if (i < n) c[i] = a[i] + b[i];
  if (i == n - 1) *flag = 1;
}
