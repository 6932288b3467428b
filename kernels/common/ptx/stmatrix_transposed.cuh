#pragma once

/// As stmatrix_x4, but each lane gives two elements that are neighbours in a column of each matrix:
/// lane l gives rows l % 4 * 2 and the one after, of column l / 4.
__device__ __forceinline__ void stmatrix_x4_transposed(unsigned shared,
                                                       const unsigned (&matrix)[4]) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared),
      "r"(matrix[0]), "r"(matrix[1]), "r"(matrix[2]), "r"(matrix[3])
      : "memory");
}
