#pragma once

/// Transposes an 8x8 matrix of 16-bit elements across a warp. Before and after, lane l holds row
/// l / 4, columns l % 4 * 2 and the one after.
__device__ __forceinline__ unsigned movmatrix_transposed(unsigned matrix) {
  unsigned transposed;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(matrix));
  return transposed;
}
