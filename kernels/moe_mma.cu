// Y[i] = X[rows[i]] W[e]^T for the rows i of each expert e, starts[e] to starts[e + 1], as
// moe_wgmma, but by mma.sync (sm_80 and later). 16-bit in and out, fp32 sums. K is a multiple of 8.

#include "common/experts/gather.cuh"
#include "common/experts/tiles.cuh"
#include "common/gemm_mma.cuh"
#include "common/reduce_partials.cuh"

using bf16 = Bf16;
using f16 = F16;
using Element = ELEMENT_TYPE;

/// What the table of tiles wants to know of them.
struct TileRows {
  static constexpr int kBlockM = ::kBlockM;
  static constexpr int kClusterM = 1;
};

/// Ahead: a block a row.
extern "C" __global__ void __launch_bounds__(128)
    moe_mma_gather(const Element* x, const int* rows, Element* copied, int k) {
  copy_token(x, rows, copied, k);
}

/// The table of tiles lies behind `table_offset` bytes of dynamic shared memory.
extern "C" __global__ void __launch_bounds__(kThreads)
    moe_mma(const int* starts, const Element* copied, const Element* w, Element* y, float* partial,
            int pairs, int experts, int n, int k, int table_offset) {
  extern __shared__ __align__(128) unsigned char smem[];
  int* const rows = reinterpret_cast<int*>(smem + table_offset);
  const ExpertTable table = {rows, rows + experts + 1, experts};
  if (threadIdx.x < 32) make_expert_table<TileRows>(starts, experts, rows, rows + experts + 1);
  __syncthreads();
  const int unit = static_cast<int>(blockIdx.x), tiles_n = cdiv(n, kBlockN);
  if (unit >= table.first_tile[experts] * tiles_n) return;
  const int expert = table.expert_of(unit / tiles_n);
  const int first_tile = table.first_tile[expert];
  const Tile tile = tile_at(kSchedule, unit - first_tile * tiles_n,
                            table.first_tile[expert + 1] - first_tile, tiles_n, kGroupM);
  const int first_m = table.first_row[expert] + tile.m * kBlockM, first_n = tile.n * kBlockN;
  const int end_m = table.first_row[expert + 1];

  const int split = static_cast<int>(blockIdx.z);
  const SliceRange slices = slices_of(split, kSplitK, cdiv(k, kBlockK));
  const int first_k = slices.first * kBlockK;
  const int end_k = smaller(k, (slices.first + slices.count) * kBlockK);
  const WarpPlace place;
  const FragmentReader reader(place);
  const Element* const weights = w + static_cast<long long>(expert) * n * k;
  Operands<Element> operands = {{copied, first_m, end_m, k, first_k, end_k},
                                {weights, first_n, n, k, first_k, end_k}};
  Sums sums = {};
  multiply_slices(sums, operands, reader, slices.count, shared_address(smem));
  __syncthreads();
  if constexpr (kWarpsK > 1) add_groups(sums, place.k_group, reinterpret_cast<float*>(smem));
  if constexpr (kSplitK > 1) {
    float* const own = partial + static_cast<long long>(split) * pairs * n;
    store_partial(sums, place, own, first_m, first_n, end_m, n);
  } else {
    store_tile(sums, place, y, first_m, first_n, end_m, n, smem);
  }
}

/// Then, when SPLIT_K > 1.
extern "C" __global__ void __launch_bounds__(128)
    moe_mma_reduce(Element* y, const float* partial, int pairs, int n) {
  reduce_partials<kSplitK>(partial, y, static_cast<long long>(pairs) * n);
}
