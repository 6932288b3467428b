#pragma once

// Numbers of e4m3 over a scale for each 1 x 128. A block of threads owns kRows rows of kColumns
// blocks of 128 columns. Half a warp takes 128 numbers, 8 a lane, so four shuffles find the largest
// of them. Each thread has kItems rows under way at once.

#include "common/ptx/load.cuh"
#include "common/types.cuh"

/// The eight numbers of 16 bytes of bf16.
__device__ __forceinline__ void unpack(const Chunk& chunk, float (&values)[8]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[2 * i] = __uint_as_float(chunk.word[i] << 16);
    values[2 * i + 1] = __uint_as_float(chunk.word[i] & 0xFFFF0000);
  }
}

/// The scale by which the largest number of half a warp becomes 448; 1 where all are 0.
__device__ __forceinline__ float scale_of(const float (&values)[8]) {
  float largest = 0;
#pragma unroll
  for (const float value : values) largest = fmaxf(largest, fabsf(value));
#pragma unroll
  for (int step = 8; step > 0; step /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
  }
  return largest == 0 ? 1 : largest / 448;
}

/// Two numbers to e4m3, to nearest even; what is beyond 448 becomes 448.
__device__ __forceinline__ unsigned to_e4m3_pair(float low, float high) {
#if __CUDA_ARCH__ >= 890
  unsigned short packed;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
  return packed;
#else  // which has no instruction for it
  const auto bits = [](float value) {
    const float size = fminf(fabsf(value), 448);
    const int exponent = max((int)(__float_as_uint(size) >> 23) - 127, -6);
    const int steps = (int)rintf(size * __uint_as_float((unsigned)(3 - exponent + 127) << 23));
    return (unsigned)((exponent + 6) * 8 + steps) | __float_as_uint(value) >> 31 << 7;
  };
  return bits(low) | bits(high) << 8;
#endif
}

/// The eight numbers over their scale.
__device__ __forceinline__ uint2 quantised(const float (&values)[8], float scale) {
  const float by = 1 / scale;
  return {to_e4m3_pair(values[0] * by, values[1] * by) |
              to_e4m3_pair(values[2] * by, values[3] * by) << 16,
          to_e4m3_pair(values[4] * by, values[5] * by) |
              to_e4m3_pair(values[6] * by, values[7] * by) << 16};
}

/// y[m, k] and its scales, which are those of neighbouring rows beside each other and padded to a
/// multiple of 4 rows. `read` gives what it loads of a row's eight columns, kChunks of 16 bytes,
/// and `make` eight numbers of that.
template <int kRows, int kColumns, int kItems, int kChunks, typename Read, typename Make>
__device__ __forceinline__ void quantise_rows(int m, int k, unsigned char* y, float* scales,
                                              Read read, Make make) {
  constexpr int kStep = kRows / kItems;
  const int lane = threadIdx.x % 16;
  const int block = blockIdx.x * kColumns + threadIdx.x / 16 % kColumns;
  const int column = block * 128 + lane * 8;
  const int first = blockIdx.y * kRows + threadIdx.x / (16 * kColumns);
  const int width = cdiv(m, 4) * 4;
  Chunk held[kItems][kChunks] = {};
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (first + i * kStep < m && column < k) read(first + i * kStep, column, held[i]);
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int row = first + i * kStep;
    float values[8];
    make(held[i], values);
    const float scale = scale_of(values);
    if (row < m && column < k) {
      *reinterpret_cast<uint2*>(y + (long long)row * k + column) = quantised(values, scale);
    }
    if (lane == 0 && row < width && block * 128 < k) {
      scales[(long long)block * width + row] = row < m ? scale : 0;
    }
  }
}
