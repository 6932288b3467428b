// Must end as correctness/unwritten: walks the tiles column by column, and finds its row by the
// number of columns (`% tiles_n` for `% tiles_m`). Most blocks are then below the last row, end at
// once, and are fast. A published kernel for mixtures of experts did this: it wrote 1.8 to 10.7 % of
// its output, and was announced as up to four times faster.
// Contract: moe_gemm.yaml with
//   launches:
//     - {grid: ["cdiv(M * TOP, 8) * cdiv(N, BLOCK)"], block: [BLOCK],
//        args: [X, W, starts, rows, Y, E, N, K]}
//   smoke: {M: 37, N: 5000, K: 64, E: 16, TOP: 2, HIT: 13}

#include "naive_experts.cuh"

extern "C" __global__ void divides_by_the_wrong_side(const float* x, const float* w,
                                                     const int* starts, const int* rows, float* y,
                                                     int experts, int n, int k) {
  const int tiles_n = (n + BLOCK - 1) / BLOCK;
  const int first = static_cast<int>(blockIdx.x) % tiles_n * 8;
  const int column = static_cast<int>(blockIdx.x) / tiles_n * BLOCK + threadIdx.x;
  if (column >= n) return;
  for (int row = first, expert = 0; row < first + 8 && row < starts[experts]; ++row) {
    while (starts[expert + 1] <= row) ++expert;
    y[static_cast<long long>(row) * n + column] =
        dot_of_expert(x, w, rows, row, expert, column, n, k);
  }
}
