// Y[M,K] = relu(X W1'^T + b1') W2' with the rows of W1 and W2 [F,K] of those neurons only that have
// the highest scores. A launch ahead of the two of sparse_ffn chooses them.
// 16-bit in and out, fp32 sums, by mma.sync (sm_90 for clusters and early launches).

#include "common/sparse/choose.cuh"
#include "common/sparse/ffn.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

/// One block of 1024 threads.
extern "C" __global__ void __launch_bounds__(1024)
    choose_neurons(const float* scores, int* index, int f, int active) {
  extern __shared__ unsigned keys[];
  grid_release();
  choose_largest(scores, index, f, active, keys);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_chosen(const Element* x, const Element* w1, const Element* b1, const int* index,
                      Element* h, int m, int f, int k, int active) {
  up_block<Relu, List::made>(x, w1, b1, ActiveNeurons(index, active, 1), h, m, f, k);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    sparse_ffn_chosen_down(const Element* h, const Element* w2, const int* index, Element* y, int m,
                           int k, int active) {
  down_block(h, w2, ActiveNeurons(index, active, 1), y, m, k);
}
