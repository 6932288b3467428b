#pragma once

// What is done to the operands ahead of a product of tf32: rows are normalised and split. A row's
// mean has to go before bits are dropped. Of a row a thousand times as far from zero as its numbers
// are from each other, tf32 keeps the mean and nothing else.

#include "common/ptx/grid_dependency.cuh"
#include "common/tf32/parts.cuh"
#include "common/wgmma/row_statistics.cuh"

__device__ __forceinline__ Quad load_quad(const float* from) {
  return *reinterpret_cast<const Quad*>(from);
}

/// Row blockIdx.x of a matrix of gridDim.x rows in parts, by a block of 128 threads. k is a
/// multiple of 4.
template <int kParts>
__device__ __forceinline__ void split_row(const float* matrix, float* parts, int k) {
  const long long begin = static_cast<long long>(blockIdx.x) * k;
  const long long stride = static_cast<long long>(gridDim.x) * k;
  for (int at = static_cast<int>(threadIdx.x) * 4; at < k; at += 512) {
    store_parts<kParts>(load_quad(matrix + begin + at), parts + begin + at, stride);
  }
}

/// The same after layer norm: (x - mean) / sqrt(variance + epsilon) * gamma + beta. The row is read
/// three times, from L1 but for the first. The second time finds what the first mean is off by, a
/// few 2^-24 of it, which may be much beside the deviation.
template <int kParts>
__device__ __forceinline__ void normalise_row(const float* x, const float* gamma, const float* beta,
                                              float* parts, int k, float epsilon) {
  __shared__ float of_warps[3][4];
  const long long begin = static_cast<long long>(blockIdx.x) * k;
  const long long stride = static_cast<long long>(gridDim.x) * k;
  const int first = static_cast<int>(threadIdx.x) * 4;
  const float share = 1.0f / static_cast<float>(k);
  float sum = 0;
#pragma unroll 4
  for (int at = first; at < k; at += 512) {
    const Quad four = load_quad(x + begin + at);
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += four.lane[i];
  }
  const float mean = sum_of_block(sum, of_warps[0]) * share;
  float rest = 0, squares = 0;
#pragma unroll 4
  for (int at = first; at < k; at += 512) {
    const Quad four = load_quad(x + begin + at);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float apart = four.lane[i] - mean;
      rest += apart;
      squares = fmaf(apart, apart, squares);
    }
  }
  rest = sum_of_block(rest, of_warps[1]) * share;
  const float variance = fmaf(-rest, rest, sum_of_block(squares, of_warps[2]) * share);
  const float scale = rsqrtf(fmaxf(variance, 0.0f) + epsilon);
#pragma unroll 4
  for (int at = first; at < k; at += 512) {
    const Quad four = load_quad(x + begin + at);
    const Quad weight = load_quad(gamma + at), bias = load_quad(beta + at);
    Quad normal;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float apart = four.lane[i] - mean - rest;
      normal.lane[i] = fmaf(apart * scale, weight.lane[i], bias.lane[i]);
    }
    store_parts<kParts>(normal, parts + begin + at, stride);
  }
}
