// A block moves a tile through shared memory, so that both sides see whole rows. The tile has one
// column more than it needs: its columns then lie in different banks.
constexpr int kTile = TILE;
constexpr int kRows = ROWS;
constexpr int kPad = PAD;

static_assert(kTile % kRows == 0 && kTile * kRows <= 1024, "a block is ROWS rows of TILE threads");

extern "C" __global__ void __launch_bounds__(kTile* kRows)
    transpose(const float* x, float* out, int m, int n) {
  __shared__ float tile[kTile][kTile + kPad];
  const int first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  const int column = first_column + threadIdx.x;
#pragma unroll
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    if (first_row + i < m && column < n) {
      tile[i][threadIdx.x] = x[(long long)(first_row + i) * n + column];
    }
  }
  __syncthreads();
  const int row = first_row + threadIdx.x;
#pragma unroll
  for (int i = threadIdx.y; i < kTile; i += kRows) {
    if (first_column + i < n && row < m) {
      out[(long long)(first_column + i) * m + row] = tile[threadIdx.x][i];
    }
  }
}
