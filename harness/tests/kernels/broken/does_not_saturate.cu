// Must end as correctness/mismatch: numbers beyond 448 become e4m3's NaN, not 448.
// Contract: to_e4m3.yaml

extern "C" __global__ void does_not_saturate(const float* x, const float* s, unsigned char* y,
                                             int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float value = x[i] * s[i], size = fabsf(value);
  const int sign = value < 0 ? 0x80 : 0;
  if (size > 448) {
    y[i] = sign | 0x7F;
    return;
  }
  int exponent = (int)(__float_as_uint(size) >> 23) - 127;
  if (exponent < -6) exponent = -6;
  const int steps = (int)rintf(size * exp2f(3 - exponent));  // eighths of the leading one
  y[i] = sign | ((exponent + 6) * 8 + steps);
}
