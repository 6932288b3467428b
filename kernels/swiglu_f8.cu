#include "common/quantise.cuh"

static_assert(ROWS * COLUMNS * 16 / ITEMS <= 1024 && ROWS % ITEMS == 0,
              "a block has 1024 threads at most, and each takes ITEMS rows");

// A row of x has the gates of its k columns, then what they let through.
extern "C" __global__ void __launch_bounds__(ROWS* COLUMNS * 16 / ITEMS)
    swiglu_f8(const Bf16* x, unsigned char* y, float* scales, int m, int k) {
  quantise_rows<ROWS, COLUMNS, ITEMS, 2>(
      m, k, y, scales,
      [&](int row, int column, Chunk(&held)[2]) {
        const Bf16* gate = x + 2ll * row * k + column;
        held[0] = load_streamed(gate);
        held[1] = load_streamed(gate + k);
      },
      [](const Chunk(&held)[2], float(&values)[8]) {
        float gate[8];
        unpack(held[0], gate);
        unpack(held[1], values);
#pragma unroll
        for (int i = 0; i < 8; ++i) values[i] *= gate[i] / (1 + __expf(-gate[i]));
      });
}
