// Must end as correctness/mismatch: stores whole tiles of 8 rows, also where an expert has fewer
// left. The rows behind are the next expert's. With a block for each expert they would be right
// whenever that expert's block is the later one; here the last expert comes first.
// Contract: moe_gemm.yaml

#include "naive_experts.cuh"

extern "C" __global__ void overruns_an_expert(const float* x, const float* w, const int* starts,
                                              const int* rows, float* y, int experts, int n,
                                              int k) {
  const int column = static_cast<int>(blockIdx.x) * BLOCK + threadIdx.x;
  if (column >= n) return;
  for (int expert = experts - 1; expert >= 0; --expert) {
    for (int tile = starts[expert]; tile < starts[expert + 1]; tile += 8) {
      for (int row = tile; row < tile + 8 && row < starts[experts]; ++row) {
        y[static_cast<long long>(row) * n + column] =
            dot_of_expert(x, w, rows, row, expert, column, n, k);
      }
    }
  }
}
