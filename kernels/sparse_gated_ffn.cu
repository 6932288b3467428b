// Y[M,K] = (silu(X Wg'^T) * (X Wu'^T)) W2' with the rows of the active neurons only. W1[2F,K] has
// the rows of Wg and then those of Wu. 16-bit in and out, fp32 sums, by mma.sync (sm_90 for
// clusters and early launches).

#include "common/sparse/ffn.cuh"
#include "common/wgmma/transform.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

struct Gate {
  static constexpr int kProducts = 2;
  static __device__ __forceinline__ float of(const float (&sums)[2]) {
    return Silu::of(sums[0]) * sums[1];
  }
};

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_gated_ffn(const Element* x, const Element* w1, const int* index, Element* h, int m,
                     int f, int k, int active, int block) {
  constexpr const Element* kNoBias = nullptr;
  up_block<Gate>(x, w1, kNoBias, ActiveNeurons(index, active, block), h, m, f, k);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_gated_ffn_down(const Element* h, const Element* w2, const int* index, Element* y, int m,
                          int k, int active, int block) {
  down_block(h, w2, ActiveNeurons(index, active, block), y, m, k);
}
