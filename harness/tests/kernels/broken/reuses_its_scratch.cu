// Must end as correct: keeps its result and a mark in scratch memory and would copy it in the next
// launch. Scratch outlives no launch, so it never finds the mark, and its time is honest.
// Contract: add.yaml with
//     - {name: kept, dtype: f32, shape: [N], role: scratch}
//     - {name: mark, dtype: i32, shape: [1], role: scratch}

extern "C" __global__ void reuses_its_scratch(const float* a, const float* b, float* c, int n,
                                              float* kept, unsigned* mark) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  const bool found = *mark == 0xC0FFEEu;
  c[i] = found ? kept[i] : a[i] + b[i];
  if (!found) kept[i] = c[i];
  if (i == n - 1) *mark = 0xC0FFEEu;
}
