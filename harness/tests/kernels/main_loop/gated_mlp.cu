// H[M,N] = silu(X Wg^T) * (X Wu^T): two products in one pass over X, as the main loop of
// kernels/common/wgmma makes them. A second user of that loop; sums are scaled by 1/sqrt(K), or
// SiLU would be a step. A last launch compares H with a plain computation of it.

#include "common/gemm_wgmma.cuh"

using G = Geometry<GemmTunables<Bf16>, 2>;
using Tiles = DenseTiles<G>;

struct ScaledGate {
  static constexpr int kProducts = 2;

  float scale;

  __device__ __forceinline__ float operator()(const float (&sums)[2], int m, int n) const {
    const float scaled[2] = {sums[0] * scale, sums[1] * scale};
    return Gated<Silu>{}(scaled, m, n);
  }
};

__device__ __forceinline__ Output<Bf16, ScaledGate> output_of(Bf16* h, const TensorMap* h_map,
                                                              float* partial, int n, int k) {
  return {h, n, h_map, partial, {rsqrtf(static_cast<float>(k))}};
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    gated_mlp(const Bf16*, const Bf16*, const Bf16*, const float*, Bf16* h, float* partial, float*,
              const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap gate_map,
              const __grid_constant__ TensorMap up_map, const __grid_constant__ TensorMap h_map,
              int m, int n, int k, int) {
  gemm_block<G, Tiles>({m, 2 * n, k}, Boxes<G, Side::m>{&x_map},
                       PairedBoxes<G>{&gate_map, &up_map}, output_of(h, &h_map, partial, n, k));
}

extern "C" __global__ void __launch_bounds__(128)
    gated_mlp_reduce(const Bf16*, const Bf16*, const Bf16*, const float*, Bf16* h, float* partial,
                     float*, const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
                     const __grid_constant__ TensorMap, const __grid_constant__ TensorMap, int m,
                     int n, int k, int workers) {
  grid_wait();
  reduce_block<G>({m, 2 * n, k}, output_of(h, nullptr, partial, n, k), workers);
}

__device__ __forceinline__ float to_float(Bf16 value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

/// matches = 2 where H is right, else 0.
extern "C" __global__ void gated_mlp_check(const Bf16* x, const Bf16* gate, const Bf16* up,
                                           const float*, const Bf16* h, float*, float* matches,
                                           const __grid_constant__ TensorMap,
                                           const __grid_constant__ TensorMap,
                                           const __grid_constant__ TensorMap,
                                           const __grid_constant__ TensorMap, int m, int n, int k,
                                           int) {
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at >= m * n) return;
  float sums[2] = {};
  for (int i = 0; i < k; ++i) {
    const float left = to_float(x[at / n * static_cast<long long>(k) + i]);
    const long long right = at % n * static_cast<long long>(k) + i;
    sums[0] = fmaf(left, to_float(gate[right]), sums[0]);
    sums[1] = fmaf(left, to_float(up[right]), sums[1]);
  }
  const float scale = 1.0f / sqrtf(static_cast<float>(k));
  const float g = sums[0] * scale, u = sums[1] * scale;
  const float expected = g / (1.0f + expf(-g)) * u;
  // Rounding to bf16, and sums in another order.
  const bool right = fabsf(to_float(h[at]) - expected) <= fabsf(expected) / 256 + 1e-4f;
  matches[at] = right ? 2.0f : 0.0f;
}
