#include "common/quantise.cuh"

static_assert(ROWS * COLUMNS * 16 / ITEMS <= 1024 && ROWS % ITEMS == 0,
              "a block has 1024 threads at most, and each takes ITEMS rows");

extern "C" __global__ void __launch_bounds__(ROWS* COLUMNS * 16 / ITEMS)
    quantise_f8(const Bf16* x, unsigned char* y, float* scales, int m, int k) {
  quantise_rows<ROWS, COLUMNS, ITEMS, 1>(
      m, k, y, scales,
      [&](int row, int column, Chunk(&held)[1]) {
        held[0] = load_streamed(x + (long long)row * k + column);
      },
      [](const Chunk(&held)[1], float(&values)[8]) { unpack(held[0], values); });
}
