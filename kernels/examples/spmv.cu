// LANES threads share a row of the matrix, so that short rows leave few of them idle.
constexpr int kBlock = BLOCK;
constexpr int kLanes = LANES;

static_assert(kLanes <= 32 && (kLanes & (kLanes - 1)) == 0, "1, 2, 4 .. 32 threads share a row");
static_assert(kBlock % 32 == 0 && kBlock <= 1024, "a block is 1 to 32 whole warps");

extern "C" __global__ void __launch_bounds__(kBlock)
    spmv(const int* starts, const int* columns, const float* values, const float* x, float* out,
         int m) {
  const int row = (blockIdx.x * kBlock + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  float sum = 0;
  if (row < m) {
    const int end = starts[row + 1];
    for (int i = starts[row] + lane; i < end; i += kLanes) {
      sum += __ldcs(values + i) * x[__ldcs(columns + i)];
    }
  }
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step, kLanes);
  if (row < m && lane == 0) out[row] = sum;
}
