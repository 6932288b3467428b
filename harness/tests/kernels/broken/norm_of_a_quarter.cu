// May end as correct: takes the root mean square of a quarter of each row for that of the row, which
// is right enough where a row is long and its numbers are alike. Refused by the last checks of a
// re-rank, on rows with a few large values.
// Contract: norm.yaml with
//   launches: [{grid: [M], block: [1024]}]
//   smoke: {M: 1, N: 8388608}

extern "C" __global__ void norm_of_a_quarter(const unsigned short* x, unsigned short* out, int n) {
  __shared__ float partial[32];
  x += (long long)blockIdx.x * n;
  out += (long long)blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n / 4; i += 1024) {
    const float value = __uint_as_float((unsigned)x[i] << 16);
    sum += value * value;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (const float part : partial) sum += part;
  const float scale = rsqrtf(sum / (n / 4) + 1e-5f);
  for (int i = threadIdx.x; i < n; i += 1024) {
    const unsigned bits = __float_as_uint(__uint_as_float((unsigned)x[i] << 16) * scale);
    out[i] = (unsigned short)((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
  }
}
