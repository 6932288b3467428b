// Must end as correctness/mismatch under sustained: does nothing where its output is right already.
// In launches that only heated the GPU it did nothing, and was timed at a higher clock for it.

extern "C" __global__ void rests_where_done(const float* a, const float* b, float* c, int n) {
  const int begin = blockIdx.x * BLOCK;
  if (c[begin] == a[begin] + b[begin]) return;
  __syncthreads();
  const int i = begin + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
