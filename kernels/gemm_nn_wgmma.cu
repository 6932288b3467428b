// C[M,N] = A[M,K] @ B[K,N], 16-bit in and out, fp32 sums, by wgmma (sm_90a). K and N are multiples
// of 8.

#include "common/gemm_wgmma.cuh"
#include "common/wgmma/layouts.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;
using G = LaidOut<GemmTunables<Element>, false, true>;

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    gemm_nn_wgmma(const Element*, const Element*, Element* c,
                  const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
                  const __grid_constant__ TensorMap c_map, int m, int n, int k) {
  gemm_block<G, DenseTiles<G>>({m, n, k}, Boxes<G, Side::m>{&a_map}, KRowsBoxes<G, Side::n>{&b_map},
                               Output<Element>{c, n, &c_map, nullptr});
}
