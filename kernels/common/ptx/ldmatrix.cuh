#pragma once

/// Loads four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix
/// l / 8, a multiple of 16 bytes. Each lane receives two neighbouring elements of each matrix.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&matrix)[4], unsigned shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(shared)
               : "memory");
}
