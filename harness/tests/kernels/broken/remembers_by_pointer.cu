// Must end as correctness/state: remembers its result for the address of an input. Judges whose inputs
// stay the same crowned such kernels: one was 12.9 times as fast.

__device__ float kept[100003];
__device__ const float* kept_for;

extern "C" __global__ void remembers_by_pointer(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  if (kept_for == a) {
    c[i] = kept[i];
    return;
  }
  c[i] = kept[i] = a[i] + b[i];
  if (i == n - 1) kept_for = a;
}
