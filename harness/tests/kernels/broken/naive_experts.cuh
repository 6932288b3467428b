#pragma once

// A product of tokens with the weights of the experts that they chose, a thread an output, for those
// that break one step of it. Rows lie in the order of the experts: expert e has starts[e] to
// starts[e + 1].

__device__ float dot_of_expert(const float* x, const float* w, const int* rows, int row, int expert,
                               int column, int n, int k) {
  const float* a = x + static_cast<long long>(rows[row]) * k;
  const float* b = w + (static_cast<long long>(expert) * n + column) * k;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[i] * b[i];
  return sum;
}
