// Scales and shifts rows. All arguments come in one struct, as libraries of kernels pass them.
constexpr int kBlock = BLOCK;
constexpr int kRows = ROWS;

struct Params {
  int rows, columns;
  float scale;
  const float* x;
  const float* shift;  // of each row
  float* y;
};

extern "C" __global__ void __launch_bounds__(kBlock) affine_rows(const __grid_constant__ Params p) {
  const int column = blockIdx.x * kBlock + threadIdx.x;
  if (column >= p.columns) return;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int row = blockIdx.y * kRows + i;
    if (row >= p.rows) return;
    const long long at = static_cast<long long>(row) * p.columns + column;
    p.y[at] = p.scale * p.x[at] + p.shift[row];
  }
}
