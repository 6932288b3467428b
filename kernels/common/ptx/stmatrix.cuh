#pragma once

/// Stores four 8x8 matrices of 16-bit elements (sm_90): ldmatrix_x4 the other way round. Lane l
/// gives the address of row l % 8 of matrix l / 8, a multiple of 16 bytes.
__device__ __forceinline__ void stmatrix_x4(unsigned shared, const unsigned (&matrix)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared),
               "r"(matrix[0]), "r"(matrix[1]), "r"(matrix[2]), "r"(matrix[3])
               : "memory");
}
