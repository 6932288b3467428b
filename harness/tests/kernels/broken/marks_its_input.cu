// Must end as correctness/input_modified: an input of indices is never drawn anew, so it could hold a
// mark that the work is done.
// Contract: add.yaml with
//     - {name: order, dtype: i32, shape: [N], role: in, fill: iota}

extern "C" __global__ void marks_its_input(const float* a, const float* b, float* c, int n,
                                           int* order) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (order[0] < 0) return;
  if (i < n) c[i] = a[i] + b[i];
  if (i == n - 1) order[0] = -1;
}
