#pragma once

// The largest of some numbers, by one block: which neurons a predictor's scores make active.

#include "common/types.cuh"

/// Keys that rise with the numbers that they are made of.
__device__ __forceinline__ unsigned rising_key(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits ^ (bits >> 31 != 0 ? 0xFFFFFFFFu : 0x80000000u);
}

/// The sum of `x` over the threads before this one, of a block of 1024. `totals` is 32 words of
/// shared memory, which are read when this returns.
__device__ __forceinline__ int sum_before(int x, int* totals) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int sum = x;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const int other = __shfl_up_sync(~0u, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) totals[warp] = sum;
  __syncthreads();
  int ahead = lane < warp ? totals[lane] : 0;
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    ahead += __shfl_xor_sync(~0u, ahead, distance);
  }
  __syncthreads();
  return ahead + sum - x;
}

/// Writes the places of the `count` largest of n numbers to `chosen`, in rising order; of equal
/// ones, the first. `keys` is n words of shared memory; n is below 65536. The smallest key that is
/// chosen is found 11 bits at a time, from the highest on.
__device__ __forceinline__ void choose_largest(const float* scores, int* chosen, int n, int count,
                                               unsigned* keys) {
  constexpr int kThreads = 1024, kBits = 11, kBins = 1 << kBits;
  __shared__ int bins[kBins], totals[32], digit, left;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < n; i += kThreads) keys[i] = rising_key(scores[i]);

  unsigned smallest = 0;  // its bits that are known
  int wanted = count;     // of the keys that have these bits
#pragma unroll 1
  for (int shift = 32 - kBits; shift > -kBits; shift -= kBits) {
    const int low = larger(shift, 0);
    const unsigned known = shift == 32 - kBits ? 0 : ~0u << (shift + kBits);
    const int num_bins = kBins >> (low - shift);
    for (int bin = thread; bin < kBins; bin += kThreads) bins[bin] = 0;
    __syncthreads();
    for (int i = thread; i < n; i += kThreads) {
      if ((keys[i] & known) == smallest) atomicAdd(&bins[keys[i] >> low & (num_bins - 1)], 1);
    }
    __syncthreads();
    // From the highest bin down, two a thread: in which one are enough?
    const int first = kBins - 1 - 2 * thread;
    const int in_first = bins[first], in_second = bins[first - 1];
    const int before = sum_before(in_first + in_second, totals);
    if (before < wanted && wanted <= before + in_first + in_second) {
      const bool second = wanted > before + in_first;
      digit = first - (second ? 1 : 0);
      left = wanted - before - (second ? in_first : 0);
    }
    __syncthreads();
    smallest |= static_cast<unsigned>(digit) << low;
    wanted = left;
  }

  // A run of numbers a thread: those above the smallest key, and as many that equal it as are
  // wanted. Counts of both share a word.
  const int run = cdiv(n, kThreads), begin = thread * run, end = smaller(n, begin + run);
  int counts = 0;
  for (int i = begin; i < end; ++i) {
    counts += keys[i] > smallest ? 1 << 16 : keys[i] == smallest ? 1 : 0;
  }
  const unsigned before = static_cast<unsigned>(sum_before(counts, totals));
  int above = static_cast<int>(before >> 16), equal = static_cast<int>(before & 0xFFFFu);
  for (int i = begin; i < end; ++i) {
    const bool is_above = keys[i] > smallest, is_equal = keys[i] == smallest;
    if (is_above || (is_equal && equal < wanted)) chosen[above + smaller(equal, wanted)] = i;
    above += is_above ? 1 : 0;
    equal += is_equal ? 1 : 0;
  }
}
