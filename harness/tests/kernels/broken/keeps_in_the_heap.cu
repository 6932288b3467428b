// Must end as correctness/state: keeps its result in the device's heap, which outlives a launch. All
// that is left of it in a variable is where it is, and a kernel that looks for a mark needs none.
// Contract: add_i32.yaml

__device__ int* kept;

extern "C" __global__ void keeps_in_the_heap(const int* a, const int* b, int* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (kept != nullptr) {
    if (i < n) c[i] = kept[i];
    return;
  }
  if (i < n) c[i] = a[i] + b[i];
  if (i == n - 1) kept = static_cast<int*>(malloc(n * sizeof(int)));
}
