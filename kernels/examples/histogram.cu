// Each block counts in shared memory and adds its counts to the result at the end. COPIES counters
// for each value let threads that meet the same value count beside each other.
constexpr int kBlock = BLOCK;
constexpr int kItems = ITEMS;
constexpr int kCopies = COPIES;
constexpr int kBins = 256;

static_assert(kBlock % 32 == 0 && kBlock <= 1024, "a block is 1 to 32 whole warps");
static_assert(kCopies * kBins * 4 <= 48 * 1024, "the counters fit in static shared memory");

extern "C" __global__ void __launch_bounds__(kBlock)
    histogram(const unsigned char* values, unsigned* counts, int n) {
  __shared__ unsigned local[kBins * kCopies];
  for (int i = threadIdx.x; i < kBins * kCopies; i += kBlock) local[i] = 0;
  __syncthreads();
  const int copy = threadIdx.x % kCopies;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    // Four values a thread: n may end anywhere within them.
    const long long first = ((blockIdx.x * (long long)kItems + item) * kBlock + threadIdx.x) * 4;
    if (first + 4 <= n) {
      const uchar4 four = *reinterpret_cast<const uchar4*>(values + first);
      atomicAdd(&local[four.x * kCopies + copy], 1);
      atomicAdd(&local[four.y * kCopies + copy], 1);
      atomicAdd(&local[four.z * kCopies + copy], 1);
      atomicAdd(&local[four.w * kCopies + copy], 1);
    } else {
      for (long long i = first; i < n; ++i) atomicAdd(&local[values[i] * kCopies + copy], 1);
    }
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += kBlock) {
    unsigned count = 0;
    for (int i = 0; i < kCopies; ++i) count += local[bin * kCopies + i];
    if (count > 0) atomicAdd(&counts[bin], count);
  }
}
