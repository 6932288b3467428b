// STEPS steps of heat in one launch: a block loads its tile with a margin of STEPS points, and each
// step makes right points of all but the outermost ring of the step before.
constexpr int kSide = TILE + 2 * STEPS;

extern "C" __global__ void heat_tiles(const float* __restrict__ plate, float* __restrict__ out,
                                      int m, int n) {
  __shared__ float held[2][kSide][kSide];
  const int first_row = blockIdx.y * TILE - STEPS, first_column = blockIdx.x * TILE - STEPS;
  for (int i = threadIdx.y; i < kSide; i += blockDim.y) {
    for (int j = threadIdx.x; j < kSide; j += blockDim.x) {
      const int row = first_row + i, column = first_column + j;
      const bool is_inside = row >= 0 && row < m && column >= 0 && column < n;
      held[0][i][j] = is_inside ? plate[(long long)row * n + column] : 0.0f;
    }
  }
  for (int step = 0; step < STEPS; ++step) {
    __syncthreads();
    const auto& from = held[step % 2];
    auto& to = held[(step + 1) % 2];
    for (int i = 1 + threadIdx.y; i < kSide - 1; i += blockDim.y) {
      for (int j = 1 + threadIdx.x; j < kSide - 1; j += blockDim.x) {
        const int row = first_row + i, column = first_column + j;
        const bool may_change = row > 0 && row < m - 1 && column > 0 && column < n - 1;
        const float around = from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1];
        to[i][j] = from[i][j] + (may_change ? 0.125f * (around - 4 * from[i][j]) : 0.0f);
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.y; i < TILE; i += blockDim.y) {
    for (int j = threadIdx.x; j < TILE; j += blockDim.x) {
      const int row = blockIdx.y * TILE + i, column = blockIdx.x * TILE + j;
      if (row < m && column < n) {
        out[(long long)row * n + column] = held[STEPS % 2][i + STEPS][j + STEPS];
      }
    }
  }
}
