// A thread computes a column of ROWS outputs. The block's part of the image is in shared memory,
// the filter in constant memory, where all threads of a warp read the same element at once.
constexpr int kWidth = WIDTH;    // threads and outputs in a row of the block
constexpr int kHeight = HEIGHT;  // rows of threads
constexpr int kRows = ROWS;      // outputs of a thread
constexpr int kSize = 5;         // of the filter

static_assert(kWidth * kHeight <= 1024 && kWidth % 32 == 0, "a row is of whole warps");

constexpr int kTileRows = kHeight * kRows + kSize - 1;
constexpr int kTileColumns = kWidth + kSize - 1;

__constant__ float filter[kSize * kSize];

extern "C" __global__ void __launch_bounds__(kWidth* kHeight)
    convolution(const float* image, float* out, int m, int n) {
  __shared__ float tile[kTileRows][kTileColumns];
  const int first_row = blockIdx.y * kHeight * kRows, first_column = blockIdx.x * kWidth;
  for (int row = threadIdx.y; row < kTileRows; row += kHeight) {
    for (int column = threadIdx.x; column < kTileColumns; column += kWidth) {
      const int from_row = first_row + row, from_column = first_column + column;
      const bool inside = from_row < m && from_column < n;
      tile[row][column] = inside ? image[(long long)from_row * n + from_column] : 0;
    }
  }
  __syncthreads();

  float sums[kRows] = {};
  const int row = threadIdx.y * kRows;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
#pragma unroll
    for (int j = 0; j < kSize; ++j) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        sums[r] += filter[i * kSize + j] * tile[row + r + i][threadIdx.x + j];
      }
    }
  }
  const int out_rows = m - kSize + 1, out_columns = n - kSize + 1;
  const int column = first_column + threadIdx.x;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int out_row = first_row + row + r;
    if (out_row < out_rows && column < out_columns) {
      out[(long long)out_row * out_columns + column] = sums[r];
    }
  }
}
