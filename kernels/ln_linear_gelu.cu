// Y[M,N] = gelu(layer_norm(X) W^T + b): a small launch finds the deviation of each row of X while
// a product multiplies X as it is, or a warpgroup of the product does. bf16 in and out, fp32 sums,
// by wgmma (sm_90a). K is a multiple of 8.

#include "common/gemm_wgmma.cuh"
#include "common/wgmma/panel_scales.cuh"

constexpr float kEpsilon = 1e-5f;

/// Where a row's scale is found: by a launch ahead, by a warpgroup of the product, or by a launch
/// whose blocks lie beside the product's.
enum class Scales { ahead, inside, beside };
constexpr bool kBeside = Scales::SCALES == Scales::beside;

/// With Scales::beside the product leaves registers for a block of 256 threads with 32 each: the
/// compiler gives a thread 128 where a block may have 512, and a warpgroup has no more than 128
/// sums a thread.
struct G : Staging<Geometry<GemmTunables<Bf16>>, PANELS> {
  static constexpr int kMaxThreads = kBeside ? 512 : kThreads;
  static constexpr int kProducerRegisters = kBeside ? 32 : Geometry::kProducerRegisters;
  static constexpr int kConsumerRegisters = kBeside ? 176 : Geometry::kConsumerRegisters;
};
using Tiles = DenseTiles<G>;

/// Gelu of 2 h. That rows' scales and columns' biases are halved ahead saves a multiplication for
/// each output: 1.5 % of the time with 16384 rows, where K is 1024.
struct GeluOfHalf {
  static __device__ __forceinline__ float of(float h) {
    constexpr float kLinear = 2 * 0.7978845608f;
    constexpr float kCubic = 4 * kLinear * 0.044715f;
    float tanh;
    asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(h * fmaf(kCubic, h * h, kLinear)));
    return fmaf(h, tanh, h);
  }
};
using Transform = Scaled<GeluOfHalf>;

struct HalfOfScale {
  using Sums = Moments;
  static __device__ __forceinline__ float of(const Moments& sums, int count, int k) {
    return 0.5f * of_row(sums, count, k, kEpsilon).scale;
  }
};

/// Ahead of everything, once: the weights that are multiplied, and a bias of each column.
/// The room for whole tiles behind the biases is read, too, and is zero.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_gelu_fold(const Bf16* w, const Bf16* gamma, const Bf16* beta, const Bf16* bias,
                        Bf16* folded, float* biases, int k) {
  fold_row_to_zero(w, gamma, beta, bias, folded, biases, k);
  if (threadIdx.x == 0) biases[blockIdx.x] *= 0.5f;  // which this thread has stored
  if (blockIdx.x > 0) return;
  constexpr int kRoom = 1024;  // as the contract says
  for (int i = threadIdx.x; i < kRoom; i += 128) biases[gridDim.x + i] = 0;
}

/// Where this launch runs, blocks of the product begin late, unless there is room beside its own.
extern "C" __global__ void __launch_bounds__(kBeside ? 256 : 1024, kBeside ? 8 : 1)
    ln_linear_gelu_statistics(const Bf16* x, float* scales, int m, int k) {
  grid_release();
  normalise_rows<Moments>(
      x, m, k, kEpsilon, [=](int row, const RowScale& found) { scales[row] = 0.5f * found.scale; });
}

/// A template, so that one of the two is compiled.
template <typename OfG>
__device__ __forceinline__ void multiply(const Tiles::Problem& problem,
                                         const Boxes<OfG, Side::m>& rows,
                                         const Boxes<OfG, Side::n>& weights,
                                         const Output<Bf16, Transform>& output, const Bf16* x) {
  if constexpr (Scales::SCALES != Scales::inside) {
    gemm_block<OfG, Tiles>(problem, rows, weights, output);
  } else {
    __shared__ PanelScales<OfG> panel;
    if (threadIdx.x == 0) panel.init();
    using Inside = ScaledInside<OfG, HalfOfScale, Bf16, GeluOfHalf>;
    const Output<Bf16, Inside> inside = {
        output.c, output.n, output.c_map, nullptr, {output.transform, &panel, x, problem.k}};
    gemm_block<OfG, PanelTiles<OfG, Inside>>({problem, &inside.transform}, rows, weights, inside);
  }
}

extern "C" __global__ void __launch_bounds__(G::kMaxThreads, 1)
    ln_linear_gelu(const Bf16* x, const float* biases, const float* scales, Bf16* y, float* partial,
                   const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap w_map,
                   const __grid_constant__ TensorMap y_map, int m, int n, int k, int) {
  multiply<G>({m, n, k}, Boxes<G, Side::m>{&x_map}, Boxes<G, Side::n>{&w_map},
              Output<Bf16, Transform>{y, n, &y_map, partial, {biases, scales, m}}, x);
}

/// Last launch, when the sums over K were made in parts.
extern "C" __global__ void __launch_bounds__(128)
    ln_linear_gelu_reduce(const float* biases, const float* scales, Bf16* y, float* partial,
                          const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
                          const __grid_constant__ TensorMap, int m, int n, int k, int workers) {
  reduce_block<G>({m, n, k}, Output<Bf16, Transform>{y, n, nullptr, partial, {biases, scales, m}},
                  workers);
}
