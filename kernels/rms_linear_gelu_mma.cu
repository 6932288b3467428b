// Y[M,N] = gelu(rms_norm(X) W^T + b), as rms_linear_gelu, but by mma.sync (sm_80 and later): a
// launch finds the scale of each row of X, and a product multiplies X as it is. 16-bit in and out,
// fp32 sums. K is a multiple of 8.

#include "common/gemm_mma_fused.cuh"
#include "common/wgmma/rms_norm.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;
using Transform = RmsNormalised<Element, ExactGelu>;

constexpr float kEpsilon = 1e-5f;

/// Ahead of everything, once: the weights that are multiplied.
extern "C" __global__ void __launch_bounds__(128)
    rms_linear_gelu_mma_scale(const Element* w, const Element* gamma, Element* scaled, int k) {
  scale_row(w, gamma, scaled, k);
}

/// A warp a row.
extern "C" __global__ void __launch_bounds__(128)
    rms_linear_gelu_mma_rows(const Element* x, float* scales, int m, int k) {
  const int row = static_cast<int>((blockIdx.x * 128 + threadIdx.x) / 32);
  if (row >= m) return;
  const float found = rms_scale_of_row(x + static_cast<long long>(row) * k, k, kEpsilon);
  if (threadIdx.x % 32 == 0) scales[row] = found;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rms_linear_gelu_mma(const Element* x, const Element* scaled, const Element* bias,
                        const float* scales, Element* y, float* partial, int m, int n, int k) {
  fused_tile(x, scaled, y, partial, m, n, k, Transform{bias, scales, m, n});
}

/// Last launch, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    rms_linear_gelu_mma_reduce(const Element* bias, const float* scales, Element* y,
                               const float* partial, int m, int n) {
  reduce_fused(partial, y, m, n, Transform{bias, scales, m, n});
}
