// Y[i] = X[rows[i]] W[e]^T for the rows i of each expert e, as moe_wgmma, for a token or few whose
// choices fit a warp, at memory's speed. 16-bit in and out, fp32 sums. K is a multiple of 8.

#include "common/experts/gemv.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

extern "C" __global__ void __launch_bounds__(kThreads)
    moe_gemv(const int* __restrict__ ids, const Element* __restrict__ x,
             const Element* __restrict__ w, Element* __restrict__ y, int m, int top, int n, int k) {
  expert_gemv<kCopy>(ids, x, w, y, m, top, n, k);
}
