// Must end as correct: a softmax that does not take the maximum off its inputs, which are small.
// Refused by the last checks of a re-rank, on large inputs.
// Contract: norm.yaml with
//     - {name: x, dtype: f32, shape: [M, N], role: in}
//     - {name: out, dtype: f32, shape: [M, N], role: out}
//   op: softmax_f32
//   work: {flops: 4 * M * N, bytes: 8 * M * N}
//   reference: [{softmax: {x: x, out: out}}]
//   smoke: {M: 37, N: 1000}

extern "C" __global__ void softmax_without_maximum(const float* x, float* out, int n) {
  __shared__ float partial[8];
  x += blockIdx.x * n;
  out += blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += expf(x[i]);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (const float part : partial) sum += part;
  for (int i = threadIdx.x; i < n; i += 256) out[i] = expf(x[i]) / sum;
}
