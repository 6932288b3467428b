// What `spmv` must compute: one thread for each row.
extern "C" __global__ void multiply(const int* starts, const int* columns, const float* values,
                                    const float* x, float* out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M) return;
  double sum = 0;
  for (int i = starts[row]; i < starts[row + 1]; ++i) sum += (double)values[i] * x[columns[i]];
  out[row] = sum;
}
