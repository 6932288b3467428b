// Y[M,K] = relu(X W1'^T + b1') W2' as sparse_ffn, where the second weights W2 [K,F] of a
// neuron are a column: each element that is read lies in a sector of its own, or shares one with
// neurons that happen to stand beside it. Lanes take a neuron each.

#include "common/sparse/ffn.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_columns(const Element* x, const Element* w1, const Element* b1, const int* index,
                       Element* h, int m, int f, int k, int active, int block) {
  up_block<Relu>(x, w1, b1, ActiveNeurons(index, active, block), h, m, f, k);
}

/// A warp has DOWN_ROWS columns of Y, which are rows of W2, of DOWN_M tokens.
extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_columns_down(const Element* h, const Element* w2, const int* index, Element* y,
                            int m, int f, int k, int active, int block) {
  const ActiveNeurons neurons(index, active, block);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(blockIdx.x * WARPS + threadIdx.x / 32);
  const int first_row = warp * DOWN_ROWS, first_token = static_cast<int>(blockIdx.y) * DOWN_M;
  const long long pitch = hidden_pitch(active);
  grid_wait();
  float sums[DOWN_M][DOWN_ROWS] = {};
#pragma unroll UNROLL
  for (int at = lane; at < active; at += 32) {
    const int neuron = neurons[at];
    float weights[DOWN_ROWS];
#pragma unroll
    for (int r = 0; r < DOWN_ROWS; ++r) {
      const int row = smaller(first_row + r, k - 1);
      weights[r] = to_float(w2[static_cast<long long>(row) * f + neuron]);
    }
#pragma unroll
    for (int t = 0; t < DOWN_M; ++t) {
      const float hidden = to_float(h[smaller(first_token + t, m - 1) * pitch + at]);
#pragma unroll
      for (int r = 0; r < DOWN_ROWS; ++r) sums[t][r] += hidden * weights[r];
    }
  }
#pragma unroll
  for (int t = 0; t < DOWN_M; ++t) {
#pragma unroll
    for (int r = 0; r < DOWN_ROWS; ++r) {
      float sum = sums[t][r];
#pragma unroll
      for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
      if (lane == 0 && first_token + t < m && first_row + r < k) {
        y[static_cast<long long>(first_token + t) * k + first_row + r].bits =
            static_cast<unsigned short>(pack(Element{}, sum, 0.0f));
      }
    }
  }
}
