// Must end as compile for every configuration: a name is not declared.

extern "C" __global__ void fails_to_compile(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + not_declared[i];
}
