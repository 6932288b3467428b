// Must end as correctness/mismatch: looks whether an expert has a further row only after the first.
// An expert that nobody chose then takes the first row of the next one. Where tokens choose every
// expert, as they do in large batches, nothing is wrong.
// Contract: moe_gemm.yaml

#include "naive_experts.cuh"

extern "C" __global__ void takes_unchosen_experts(const float* x, const float* w, const int* starts,
                                                  const int* rows, float* y, int experts, int n,
                                                  int k) {
  const int column = static_cast<int>(blockIdx.x) * BLOCK + threadIdx.x;
  if (column >= n) return;
  for (int expert = experts - 1; expert >= 0; --expert) {
    int row = starts[expert];
    do {
      if (row == starts[experts]) break;  // behind the last row of all
      y[static_cast<long long>(row) * n + column] =
          dot_of_expert(x, w, rows, row, expert, column, n, k);
    } while (++row < starts[expert + 1]);
  }
}
