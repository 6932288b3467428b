// Must end as correctness/state: counts its launches, and is wrong from the ninth on.

__device__ unsigned launches_begun;  // in blocks

extern "C" __global__ void wrong_after_many(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  const bool late = launches_begun > 8u * gridDim.x;
  if (threadIdx.x == 0) atomicAdd(&launches_begun, 1u);
  if (i < n) c[i] = a[i] + b[i] + (late ? 1.0f : 0.0f);
}
