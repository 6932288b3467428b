// One time step of heat on a plate, whose edge keeps its temperature. A thread goes down a column
// and keeps the three values that it has read last.
constexpr int kWidth = WIDTH;    // threads in a row of the block
constexpr int kHeight = HEIGHT;  // rows of threads
constexpr int kRows = ROWS;      // points of a thread

static_assert(kWidth * kHeight <= 1024 && kWidth % 32 == 0, "a row is of whole warps");

extern "C" __global__ void __launch_bounds__(kWidth* kHeight)
    stencil(const float* from, float* to, float rate, int m, int n) {
  const int column = blockIdx.x * kWidth + threadIdx.x;
  const int first_row = (blockIdx.y * kHeight + threadIdx.y) * kRows;
  if (column >= n || first_row >= m) return;
  const bool edge_column = column == 0 || column == n - 1;
  const float* at = from + (long long)first_row * n + column;
  float* out = to + (long long)first_row * n + column;
  float above = first_row > 0 ? at[-n] : 0;
  float here = *at;
#pragma unroll
  for (int i = 0; i < kRows; ++i, at += n, out += n) {
    const int row = first_row + i;
    if (row >= m) return;
    const float below = row + 1 < m ? at[n] : 0;
    if (edge_column || row == 0 || row == m - 1) {
      *out = here;
    } else {
      *out = here + rate * (above + below + at[-1] + at[1] - 4 * here);
    }
    above = here;
    here = below;
  }
}
