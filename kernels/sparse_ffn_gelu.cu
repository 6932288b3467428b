// Y[M,K] = gelu(X W1'^T + b1') W2' with the rows of W1 and W2 [F,K] of the active neurons only, as
// sparse_ffn. 16-bit in and out, fp32 sums, by mma.sync (sm_90 for clusters and early launches).

#include "common/sparse/ffn.cuh"
#include "common/wgmma/transform.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

struct GeluOfSum {
  static constexpr int kProducts = 1;
  static __device__ __forceinline__ float of(const float (&sums)[1]) { return Gelu::of(sums[0]); }
};

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_gelu(const Element* x, const Element* w1, const Element* b1, const int* index,
                    Element* h, int m, int f, int k, int active, int block) {
  up_block<GeluOfSum>(x, w1, b1, ActiveNeurons(index, active, block), h, m, f, k);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_gelu_down(const Element* h, const Element* w2, const int* index, Element* y, int m,
                         int k, int active, int block) {
  down_block(h, w2, ActiveNeurons(index, active, block), y, m, k);
}
