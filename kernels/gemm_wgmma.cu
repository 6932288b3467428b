// C[M,N] = A[M,K] @ B[N,K]^T, bf16 in and out, fp32 sums, by wgmma (sm_90a). K is a multiple of 8.

#include "common/gemm_wgmma.cuh"
#include "common/wgmma/edge_boxes.cuh"

using G = Geometry<GemmTunables<Bf16>>;
using Tiles = DenseTiles<G>;

/// Which boxes bring the rows of a side's last tile.
enum class Edge { whole, rows };

template <Side kSide>
__device__ __forceinline__ auto boxes(const TensorMap& map, const TensorMap& edge, int rows) {
  constexpr bool kStreams = kSide == Side::n && STREAMED != 0;
  if constexpr (Edge::EDGE == Edge::rows) {
    return EdgeBoxes<G, kSide, kStreams>{{&map}, {&edge}, rows};
  } else {
    return Boxes<G, kSide, kStreams>{&map};
  }
}

extern "C" __global__ void __launch_bounds__(G::kThreads, 1)
    gemm_wgmma(const Bf16*, const Bf16*, Bf16* c, float* partial,
               const __grid_constant__ TensorMap a_map, const __grid_constant__ TensorMap b_map,
               const __grid_constant__ TensorMap c_map, int m, int n, int k, int,
               const __grid_constant__ TensorMap a_edge, const __grid_constant__ TensorMap b_edge) {
  gemm_block<G, Tiles>({m, n, k}, boxes<Side::m>(a_map, a_edge, m),
                       boxes<Side::n>(b_map, b_edge, n), Output<Bf16>{c, n, &c_map, partial});
}

/// Second launch, when the sums over K were made in parts.
extern "C" __global__ void __launch_bounds__(128)
    gemm_wgmma_reduce(const Bf16*, const Bf16*, Bf16* c, float* partial,
                      const __grid_constant__ TensorMap, const __grid_constant__ TensorMap,
                      const __grid_constant__ TensorMap, int m, int n, int k, int workers,
                      const __grid_constant__ TensorMap, const __grid_constant__ TensorMap) {
  grid_wait();
  reduce_block<G>({m, n, k}, Output<Bf16>{c, n, nullptr, partial}, workers);
}
