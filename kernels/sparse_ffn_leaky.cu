// Y[M,K] = leaky_relu(X W1'^T + b1') W2' with the rows of W1 and W2 [F,K] of the active neurons
// only, as sparse_ffn. 16-bit in and out, fp32 sums, by mma.sync (sm_90 for clusters and early
// launches).

#include "common/sparse/ffn.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

constexpr float kSlope = SLOPE_MILLIONTHS * 1e-6f;

struct LeakyRelu {
  static constexpr int kProducts = 1;
  static __device__ __forceinline__ float of(const float (&sums)[1]) {
    return sums[0] > 0 ? sums[0] : kSlope * sums[0];
  }
};

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_leaky(const Element* x, const Element* w1, const Element* b1, const int* index,
                     Element* h, int m, int f, int k, int active, int block) {
  up_block<LeakyRelu>(x, w1, b1, ActiveNeurons(index, active, block), h, m, f, k);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_leaky_down(const Element* h, const Element* w2, const int* index, Element* y, int m,
                          int k, int active, int block) {
  down_block(h, w2, ActiveNeurons(index, active, block), y, m, k);
}
