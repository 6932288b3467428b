// Must end as runtime/illegal_address: writes through a pointer that nothing owns.

extern "C" __global__ void illegal_address(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i == n - 1) *reinterpret_cast<float*>(0x10ull << 40) = 1.0f;
  if (i < n) c[i] = a[i] + b[i];
}
