// Each block adds up its part, then one block adds up the sums of the blocks.
constexpr int kBlock = BLOCK;
constexpr int kVector = VECTOR;

static_assert(kBlock % 32 == 0 && kBlock <= 1024, "a block is 1 to 32 whole warps");
static_assert(kVector == 1 || kVector == 2 || kVector == 4,
              "a thread loads up to 16 bytes at once");

struct alignas(4 * kVector) Pack {
  float lane[kVector];
};

// The sum over the block, in its first thread.
__device__ float block_sum(float value) {
  __shared__ float sums[32];
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  value = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  return value;
}

extern "C" __global__ void __launch_bounds__(kBlock)
    reduction(const float* x, float* partial, int n) {
  const Pack* packs = reinterpret_cast<const Pack*>(x);
  const int first = blockIdx.x * kBlock + threadIdx.x, stride = gridDim.x * kBlock;
  float sum = 0;
#pragma unroll 4
  for (int i = first; i < n / kVector; i += stride) {
    const Pack pack = packs[i];
    for (const float value : pack.lane) sum += value;
  }
  if (first < n % kVector) sum += x[n - 1 - first];
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(1024) finish(const float* partial, float* out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 1024) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *out = sum;
}
