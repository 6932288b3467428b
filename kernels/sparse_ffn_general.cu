// Y[M,K] = act(X W1'^T + b1') W2' with the rows of W1 and W2 [F,K] of the active neurons only: as
// sparse_ffn, with other activations.

#include "common/sparse/activation.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_general(const Element* x, const Element* w1, const Element* b1, const int* index,
                       Element* h, int m, int f, int k, int active) {
  up_block<Activation>(x, w1, b1, ActiveNeurons(index, active, 1), h, m, f, k);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_general_down(const Element* h, const Element* w2, const int* index, Element* y,
                            int m, int k, int active) {
  down_block(h, w2, ActiveNeurons(index, active, 1), y, m, k);
}
