// Must end as correctness/input_modified: A is one element different afterwards, C is right.

extern "C" __global__ void changes_input(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
  if (i == n - 1) const_cast<float*>(a)[i] += 1.0f;
}
