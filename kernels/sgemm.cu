// C[M,N] = A[M,K] @ B[K,N], fp32 throughout, no tensor cores. A tile of C belongs to one block; A's
// and B's slices of BLOCK_K wait in shared memory; each thread keeps TILE x TILE sums in registers.
// Loops are unrolled just enough to keep loads in flight: this kernel is also what the tuner's own
// speed is measured with, so it must compile fast.

constexpr int kThreadsM = THREADS_M;
constexpr int kThreadsN = THREADS_N;
constexpr int kTile = TILE;
constexpr int kBlockK = BLOCK_K;
constexpr int kThreads = kThreadsM * kThreadsN;
constexpr int kBlockM = kThreadsM * kTile;
constexpr int kBlockN = kThreadsN * kTile;

static_assert(kThreads % 32 == 0 && kThreads <= 1024, "a block is 1 to 32 whole warps");
static_assert(4 * (kBlockM * (kBlockK + 1) + kBlockK * kBlockN) <= 49152,
              "both slices fit the 48 KB of static shared memory");

extern "C" __global__ void __launch_bounds__(kThreads)
    sgemm(const float* a, const float* b, float* c, int m, int n, int k) {
  // One float of padding puts the rows that a warp reads together in different banks.
  __shared__ float a_slice[kBlockM][kBlockK + 1];
  __shared__ float b_slice[kBlockK][kBlockN];
  const int thread = threadIdx.x;
  const int thread_m = thread / kThreadsN, thread_n = thread % kThreadsN;
  const int first_m = blockIdx.y * kBlockM, first_n = blockIdx.x * kBlockN;
  float sum[kTile][kTile] = {};

  for (int first_k = 0; first_k < k; first_k += kBlockK) {
#pragma unroll 4
    for (int i = thread; i < kBlockM * kBlockK; i += kThreads) {
      const int row = i / kBlockK, col = i % kBlockK;
      const bool inside = first_m + row < m && first_k + col < k;
      a_slice[row][col] = inside ? a[(long long)(first_m + row) * k + first_k + col] : 0.0f;
    }
#pragma unroll 4
    for (int i = thread; i < kBlockK * kBlockN; i += kThreads) {
      const int row = i / kBlockN, col = i % kBlockN;
      const bool inside = first_k + row < k && first_n + col < n;
      b_slice[row][col] = inside ? b[(long long)(first_k + row) * n + first_n + col] : 0.0f;
    }
    __syncthreads();
#pragma unroll 2
    for (int step = 0; step < kBlockK; ++step) {
      float a_value[kTile], b_value[kTile];
#pragma unroll
      for (int i = 0; i < kTile; ++i) a_value[i] = a_slice[thread_m + i * kThreadsM][step];
#pragma unroll
      for (int j = 0; j < kTile; ++j) b_value[j] = b_slice[step][thread_n + j * kThreadsN];
#pragma unroll
      for (int i = 0; i < kTile; ++i) {
#pragma unroll
        for (int j = 0; j < kTile; ++j) sum[i][j] += a_value[i] * b_value[j];
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kTile; ++i) {
    const int row = first_m + thread_m + i * kThreadsM;
#pragma unroll
    for (int j = 0; j < kTile; ++j) {
      const int col = first_n + thread_n + j * kThreadsN;
      if (row < m && col < n) c[(long long)row * n + col] = sum[i][j];
    }
  }
}
