// Must end as correctness/mismatch: a layer norm that takes the mean of each row for 0, as that of so
// many normal random numbers nearly is. In the norm it is near enough; elements near 0 show it.
// Contract: norm.yaml with
//   op: layer_norm_bf16
//   reference: [{layer_norm: {x: x, epsilon: 1e-5, out: out}}]

__device__ float to_float(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

extern "C" __global__ void assumes_no_mean(const unsigned short* x, unsigned short* out, int n) {
  __shared__ float partial[8];
  x += (long long)blockIdx.x * n;
  out += (long long)blockIdx.x * n;
  float squares = 0;
  for (int i = threadIdx.x; i < n; i += 256) squares += to_float(x[i]) * to_float(x[i]);
  for (int step = 16; step > 0; step /= 2) squares += __shfl_xor_sync(~0u, squares, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = squares;
  __syncthreads();
  squares = 0;
  for (const float part : partial) squares += part;
  const float scale = rsqrtf(squares / n + 1e-5f);
  for (int i = threadIdx.x; i < n; i += 256) {
    const unsigned bits = __float_as_uint(to_float(x[i]) * scale);
    out[i] = (unsigned short)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
}
