// A pass sorts by BITS bits and keeps the order of equal digits. Blocks count the digits of their
// keys, a block finds where each block's keys of each digit begin, then blocks move their keys.
constexpr int kBlock = BLOCK;
constexpr int kItems = ITEMS;
constexpr int kBits = BITS;
constexpr int kDigits = 1 << kBits;
constexpr int kWarps = kBlock / 32;

static_assert(kBlock % 32 == 0 && kBlock <= 1024, "a block is 1 to 32 whole warps");
static_assert(kDigits <= kBlock && 32 % kBits == 0, "each digit has a thread");

// Counts lie by digits, then blocks, so that their sums are places in the output.
extern "C" __global__ void __launch_bounds__(kBlock)
    count(const unsigned* keys, int* counts, int shift, int n) {
  __shared__ int found[kDigits];
  if (threadIdx.x < kDigits) found[threadIdx.x] = 0;
  __syncthreads();
  const int first = blockIdx.x * kBlock * kItems + threadIdx.x;
  for (int i = first; i < min(n, first + kBlock * kItems); i += kBlock) {
    atomicAdd(&found[keys[i] >> shift & (kDigits - 1)], 1);
  }
  __syncthreads();
  if (threadIdx.x < kDigits) counts[threadIdx.x * gridDim.x + blockIdx.x] = found[threadIdx.x];
}

// Makes each count the sum of those before it.
extern "C" __global__ void __launch_bounds__(1024) scan(int* counts, int n) {
  __shared__ int sums[32];
  __shared__ int before;
  if (threadIdx.x == 0) before = 0;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int begin = 0; begin < n; begin += 1024) {
    const int i = begin + threadIdx.x, own = i < n ? counts[i] : 0;
    int sum = own;
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(~0u, sum, step);
      if (lane >= step) sum += other;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    int base = before;
    for (int w = 0; w < warp; ++w) base += sums[w];
    if (i < n) counts[i] = base + sum - own;
    __syncthreads();
    if (threadIdx.x == 1023) before = base + sum;
    __syncthreads();
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    move(const unsigned* keys, unsigned* to, const int* counts, int shift, int n) {
  __shared__ int places[kDigits];            // where the block's next key of a digit goes
  __shared__ int of_warps[kWarps][kDigits];  // how many each warp has of it
  if (threadIdx.x < kDigits) places[threadIdx.x] = counts[threadIdx.x * gridDim.x + blockIdx.x];
  const int warp = threadIdx.x / 32;
  for (int item = 0; item < kItems; ++item) {
    for (int d = threadIdx.x % 32; d < kDigits; d += 32) of_warps[warp][d] = 0;
    __syncwarp();
    const int i = (blockIdx.x * kItems + item) * kBlock + threadIdx.x;
    const unsigned key = i < n ? keys[i] : 0;
    const int digit = i < n ? key >> shift & (kDigits - 1) : kDigits;
    const unsigned same = __match_any_sync(~0u, digit);
    const int rank = __popc(same & ((1u << threadIdx.x % 32) - 1));
    if (rank == 0 && i < n) of_warps[warp][digit] = __popc(same);
    __syncthreads();
    if (i < n) {
      int place = places[digit] + rank;
      for (int w = 0; w < warp; ++w) place += of_warps[w][digit];
      to[place] = key;
    }
    __syncthreads();
    for (int w = 0; w < kWarps && threadIdx.x < kDigits; ++w) {
      places[threadIdx.x] += of_warps[w][threadIdx.x];
    }
    __syncthreads();
  }
}
