// A histogram with CUB's parts: each block counts its tiles in shared memory and adds its counts to
// the result at the end. The size is the template's, since a macro called N would break CUB.
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>

constexpr int kThreads = 256;
constexpr int kItems = 16;
constexpr int kTile = kThreads * kItems;
constexpr int kBins = 256;

static_assert(kBins == kThreads, "a thread adds one counter to the result");

template <long long N>
__global__ void count(const unsigned char* values, unsigned* counts) {
  using Load = cub::BlockLoad<unsigned char, kThreads, kItems, cub::BLOCK_LOAD_VECTORIZE>;
  using Histogram =
      cub::BlockHistogram<unsigned char, kThreads, kItems, kBins, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ typename Load::TempStorage load;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned mine[kBins];
  Histogram histogram(storage);
  histogram.InitHistogram(mine);
  __syncthreads();
  constexpr long long kTiles = N / kTile;
  for (long long tile = blockIdx.x; tile < kTiles; tile += gridDim.x) {
    unsigned char items[kItems];
    Load(load).Load(values + tile * kTile, items);
    histogram.Composite(items, mine);
  }
  if (blockIdx.x == 0) {
    for (long long i = kTiles * kTile + threadIdx.x; i < N; i += kThreads) {
      atomicAdd(&mine[values[i]], 1);
    }
  }
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}
