// C[M,N] = K / 16 times A[M,16] @ B[N,16]^T, 16-bit in and out, fp32 sums: a product of K columns
// whose operands repeat after 16, so that they stay in registers. The loop has nothing but
// mma.sync: what gemm_mma would take if nothing had to be brought (sm_80 and later).

#include "common/ptx/cvt.cuh"
#include "common/ptx/mma.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

constexpr int kTilesM = TILES_M;  // mma instructions down a warp's piece of C
constexpr int kTilesN = TILES_N;  // and across

/// Two neighbouring elements of a row of 16.
__device__ __forceinline__ unsigned pair_at(const Element* matrix, int row, int column) {
  return *reinterpret_cast<const unsigned*>(matrix + row * 16ll + column);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32, BLOCKS)
    mma_registers(const Element* a, const Element* b, Element* c, int n, int k, int pieces,
                  int pieces_n) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int piece = static_cast<int>(blockIdx.x) * WARPS + warp;
  if (piece >= pieces) return;
  const int first_m = piece / pieces_n * kTilesM * 16 + lane / 4;
  const int first_n = piece % pieces_n * kTilesN * 8 + lane / 4;
  const int column = lane % 4 * 2;

  unsigned of_a[kTilesM][4], of_b[kTilesN][2];
#pragma unroll
  for (int i = 0; i < kTilesM * 4; ++i) {
    of_a[i / 4][i % 4] = pair_at(a, first_m + i / 4 * 16 + i % 2 * 8, column + i % 4 / 2 * 8);
  }
#pragma unroll
  for (int j = 0; j < kTilesN * 2; ++j) {
    of_b[j / 2][j % 2] = pair_at(b, first_n + j / 2 * 8, column + j % 2 * 8);
  }

  float sums[kTilesM][kTilesN][4] = {};
#pragma unroll 2
  for (int step = 0; step < k / 16; ++step) {
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (int jj = 0; jj < kTilesN; ++jj) {
        const int j = i % 2 == 0 ? jj : kTilesN - 1 - jj;  // there and back, as in gemm_mma
        mma_m16n8k16(Element{}, sums[i][j], of_a[i], of_b[j][0], of_b[j][1]);
      }
    }
  }

#pragma unroll
  for (int i = 0; i < kTilesM * 2; ++i) {
    Element* row = c + (first_m + i * 8ll) * n + piece % pieces_n * kTilesN * 8 + column;
#pragma unroll
    for (int j = 0; j < kTilesN; ++j) {
      const float* pair = &sums[i / 2][j][i % 2 * 2];
      *reinterpret_cast<unsigned*>(row + j * 8) = pack(Element{}, pair[0], pair[1]);
    }
  }
}
