#pragma once

/// As ldmatrix_x4, but each lane receives two elements that are neighbours in a column of each
/// matrix: lane l gets rows l % 4 * 2 and the one after, of column l / 4.
__device__ __forceinline__ void ldmatrix_x4_transposed(unsigned (&matrix)[4], unsigned shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(shared)
               : "memory");
}
