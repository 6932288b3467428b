#pragma once

// The product of gemm_mma.cuh with more in its epilogue: a transform (wgmma/transform.cuh) makes
// each output of the sums of kProducts products that have A in common. The mainloop is gemm_mma's.
//
// B has the rows of the products' matrices, one matrix below the other. A tile takes eight rows of
// each in turn: eight columns are one mma instruction, so that a thread holds all sums of an
// output. In a partial of C, with SPLIT_K > 1, the sums lie in the same order.

#include "common/gemm_mma.cuh"
#include "common/wgmma/transform.cuh"

/// Columns of C that a tile has.
template <typename Transform>
constexpr int kOutputColumns = kBlockN / Transform::kProducts;

/// Columns of a partial of C [m, n]. Runs of eight are whole, so that quads of sums are aligned.
template <typename Transform>
__device__ __forceinline__ int partial_columns(int n) {
  return cdiv(n, 8) * 8 * Transform::kProducts;
}

/// Slices of the tile's rows of B: those from `first_row` on of each of kProducts matrices
/// [rows, k], columns [first_k, end_k).
template <int kProducts, typename Element>
__device__ __forceinline__ SliceCopy<Element, kBlockN> copy_of_products(const Element* b,
                                                                        int first_row, int rows,
                                                                        int k, int first_k,
                                                                        int end_k) {
  using Copy = SliceCopy<Element, kBlockN>;
  static_assert(kProducts == 1 || Copy::kRowStep % (8 * kProducts) == 0,
                "all rows that a thread copies are of one product");
  Copy copy(b, first_row, rows, k, first_k, end_k);
  if constexpr (kProducts > 1) {
    const int run = copy.row / 8;
    const int row = first_row + run / kProducts * 8 + copy.row % 8;
    const long long at = static_cast<long long>(run % kProducts) * rows + row;
    copy.first += (at - first_row - copy.row) * k;
    copy.next = copy.first;
    copy.step /= kProducts;
    copy.rows_left = (rows - row) * kProducts;
  }
  return copy;
}

/// store_tile with a transform: writes the tile whose first output is (first_m, first_n).
template <typename Transform, typename Element>
__device__ __forceinline__ void store_outputs(const Sums& sums, const WarpPlace& place,
                                              const Transform& transform, Element* c, int first_m,
                                              int first_n, int m, int n, unsigned char* smem) {
  constexpr int kProducts = Transform::kProducts, kColumns = kOutputColumns<Transform>;
  constexpr int kPitch = kColumns + 8;
  Element* const staged = reinterpret_cast<Element*>(smem);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (kWarpsK == 1 || place.k_group == 0) {
    const int row = place.m + lane / 4, column = place.n / kProducts + lane % 4 * 2;
    decltype(transform.row(0)) rows[2 * kTilesM];
#pragma unroll
    for (int i = 0; i < 2 * kTilesM; ++i) rows[i] = transform.row(first_m + row + i * 8);
#pragma unroll
    for (int j = 0; j < kTilesN / kProducts; ++j) {
      decltype(transform.column(0)) columns[2];
      transform.columns(first_n + column + j * 8, columns);
#pragma unroll
      for (int i = 0; i < 2 * kTilesM; ++i) {
        float outputs[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float terms[kProducts];
#pragma unroll
          for (int p = 0; p < kProducts; ++p) {
            terms[p] = sums[i / 2][j * kProducts + p][i % 2 * 2 + e];
          }
          outputs[e] = transform(terms, rows[i], columns[e]);
        }
        *reinterpret_cast<unsigned*>(staged + (row + i * 8) * kPitch + column + j * 8) =
            pack(Element{}, outputs[0], outputs[1]);
      }
    }
  }
  __syncthreads();

  const bool aligned = n % 8 == 0;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < kBlockM * kColumns / 8; i += kThreads) {
    const int row = i / (kColumns / 8), column = i % (kColumns / 8) * 8;
    if (first_m + row >= m || first_n + column >= n) continue;
    const Element* const from = staged + row * kPitch + column;
    Element* const to = c + static_cast<long long>(first_m + row) * n + first_n + column;
    if (aligned) {
      *reinterpret_cast<Chunk*>(to) = *reinterpret_cast<const Chunk*>(from);
    } else {
#pragma unroll 1
      for (int e = 0; e < smaller(8, n - first_n - column); ++e) to[e] = from[e];
    }
  }
}

/// A block's tile: rows [first_m, end_m) of A and of C, as far as it reaches, and its place along
/// N.
struct TilePlace {
  int first_m, end_m;
  int n;
};

/// The tile of C [m, n], or one split's partial of the tile, from A [m, k] and
/// B [kProducts * n, k]. k is a multiple of 8.
template <typename Transform, typename Element>
__device__ __forceinline__ void fused_product(const Element* a, const Element* b, Element* c,
                                              float* partial, const TilePlace& tile, int m, int n,
                                              int k, const Transform& transform,
                                              unsigned char* smem) {
  const int split = static_cast<int>(blockIdx.z);
  const SliceRange slices = slices_of(split, kSplitK, cdiv(k, kBlockK));
  const int first_n = tile.n * kOutputColumns<Transform>;
  const int first_k = slices.first * kBlockK;
  const int end_k = smaller(k, (slices.first + slices.count) * kBlockK);

  const WarpPlace place;
  const FragmentReader reader(place);
  Operands<Element> operands = {
      {a, tile.first_m, tile.end_m, k, first_k, end_k},
      copy_of_products<Transform::kProducts>(b, first_n, n, k, first_k, end_k)};
  Sums sums = {};
  multiply_slices(sums, operands, reader, slices.count, shared_address(smem));
  __syncthreads();
  if constexpr (kWarpsK > 1) add_groups(sums, place.k_group, reinterpret_cast<float*>(smem));
  if constexpr (kSplitK > 1) {
    const int columns = partial_columns<Transform>(n);
    float* const own = partial + static_cast<long long>(split) * m * columns;
    store_partial(sums, place, own, tile.first_m, tile.n * kBlockN, tile.end_m, columns);
  } else {
    store_outputs(sums, place, transform, c, tile.first_m, first_n, tile.end_m, n, smem);
  }
}

/// The block's tile of a product in which all rows of A have the same B.
template <typename Transform, typename Element>
__device__ __forceinline__ void fused_tile(const Element* a, const Element* b, Element* c,
                                           float* partial, int m, int n, int k,
                                           const Transform& transform) {
  extern __shared__ __align__(128) unsigned char smem[];
  const Tile tile = tile_at(kSchedule, static_cast<int>(blockIdx.x), cdiv(m, kBlockM),
                            cdiv(n, kOutputColumns<Transform>), kGroupM);
  fused_product(a, b, c, partial, {tile.m * kBlockM, m, tile.n}, m, n, k, transform, smem);
}

/// The launch behind, when SPLIT_K > 1: adds up the partials in their order. Each thread makes four
/// neighbouring outputs of a row.
template <typename Transform, typename Element>
__device__ __forceinline__ void reduce_fused(const float* partial, Element* c, int m, int n,
                                             const Transform& transform) {
  constexpr int kProducts = Transform::kProducts;
  const long long quad = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  const int row = static_cast<int>(quad / cdiv(n, 4));
  const int column = static_cast<int>(quad % cdiv(n, 4)) * 4;
  if (row >= m) return;
  const long long columns = partial_columns<Transform>(n);
  const float* from = partial + row * columns + column / 8 * 8 * kProducts + column % 8;
  float sums[4][kProducts] = {};
#pragma unroll
  for (int split = 0; split < kSplitK; ++split) {
#pragma unroll
    for (int p = 0; p < kProducts; ++p) {
      const Quad terms = *reinterpret_cast<const Quad*>(from + p * 8);
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[e][p] += terms.lane[e];
    }
    from += m * columns;
  }
  const auto of_row = transform.row(row);
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (column + e >= n) break;
    const float output = transform(sums[e], of_row, transform.column(column + e));
    c[static_cast<long long>(row) * n + column + e].bits =
        static_cast<unsigned short>(pack(Element{}, output, 0.0f));
  }
}
