// C[M,N] = A[M,K] @ B[K,N], 16-bit in and out, fp32 sums, by mma.sync (sm_80 and later).
// K and N are multiples of 8.

#include "common/gemm_mma_layouts.cuh"
#include "common/reduce_partials.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

extern "C" __global__ void __launch_bounds__(kThreads)
    gemm_nn_mma(const Element* a, const Element* b, Element* c, float* partial, int m, int n,
                int k) {
  laid_out_tile<RowsOperand<Element, kBlockM>>(a, b, c, partial, m, n, k);
}

/// Second launch, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    gemm_nn_mma_reduce(const Element*, const Element*, Element* c, const float* partial, int m,
                       int n, int) {
  reduce_partials<kSplitK>(partial, c, static_cast<long long>(m) * n);
}
