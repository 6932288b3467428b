#pragma once

// From a warpgroup's sums to memory.

#include "common/ptx/cp_async.cuh"
#include "common/ptx/cvt.cuh"
#include "common/ptx/movmatrix.cuh"
#include "common/ptx/stmatrix.cuh"
#include "common/ptx/tma.cuh"
#include "common/swizzle.cuh"
#include "common/wgmma/geometry.cuh"
#include "common/wgmma/slice.cuh"
#include "common/wgmma/transform.cuh"

/// Where the outputs go, and how they are made of sums.
template <typename ElementOfC, typename TransformOfSums = Identity>
struct Output {
  using Element = ElementOfC;
  using Transform = TransformOfSums;

  Element* c;              // row-major
  int n;                   // columns of C
  const TensorMap* c_map;  // of C, boxes of 16 x 64, 128 bytes swizzled; with StoreBy::tma
  float* partial;          // where sums wait for the second launch
  Transform transform = {};
};

/// Where a warp's rows of a tile lie. A warp holds 16 rows of each 64.
struct WarpRows {
  int warp;  // in its warpgroup
  int lane;

  __device__ __forceinline__ WarpRows()
      : warp(static_cast<int>(threadIdx.x) / 32 % 4), lane(static_cast<int>(threadIdx.x) % 32) {}
  /// First row of the warp in the `i`th 64 rows.
  __device__ __forceinline__ int first(int i) const { return i * 64 + warp * 16; }
};

/// The sums of a thread for 8 columns of outputs: four outputs, of one sum for each product.
template <typename G>
using SumGroup = float[G::kProducts][4];

template <typename G, typename Transform, typename Row, typename Column>
__device__ __forceinline__ float transformed(const SumGroup<G>& group, int e,
                                             const Transform& transform, const Row& row,
                                             const Column& column) {
  float sums[G::kProducts];
#pragma unroll
  for (int product = 0; product < G::kProducts; ++product) sums[product] = group[product][e];
  return transform(sums, row, column);
}

/// The sums of the outputs at `output`, out of a warpgroup's accumulators.
template <typename G>
__device__ __forceinline__ void take_group(SumGroup<G>& group, const Accumulators<G>& sums,
                                           Group output) {
#pragma unroll
  for (int product = 0; product < G::kProducts; ++product) {
    const Group from = G::accumulators_of(output, product);
#pragma unroll
    for (int e = 0; e < 4; ++e) group[product][e] = sums[from.tile][from.column * 4 + e];
  }
}

/// What a transform knows of a thread's two rows of the warp's 16 from `row` on.
template <typename Transform>
struct OfRows {
  decltype(Transform{}.row(0)) two[2];

  __device__ __forceinline__ OfRows(const Transform& transform, int row)
      : two{transform.row(row + WarpRows().lane / 4),
            transform.row(row + 8 + WarpRows().lane / 4)} {}
};

constexpr int kPanelBytes = 16 * 128;  // 16 rows of 64 columns

/// Rounds a warp's 16 rows x 64 columns, from group `first` of 8 columns on, into a panel of shared
/// memory: rows of 128 bytes, swizzled as the copy engine does it. `of_rows` are what the transform
/// knows of the thread's two rows, `col` is where the panel begins in C.
template <typename G, typename Output, typename Rows>
__device__ __forceinline__ void stage_panel(const Accumulators<G>& sums, int tile, int first,
                                            unsigned panel, const Output& output,
                                            const Rows& of_rows, int col) {
  constexpr int kGroups = G::kOutputColumns;
  const auto& transform = output.transform;
  const int lane = WarpRows().lane;
#pragma unroll
  for (int group = 0; group < smaller(8, kGroups - first); group += 2) {
    unsigned matrix[4] = {};  // what lies beyond the last group is not read
#pragma unroll
    for (int next = 0; next < 2; ++next) {  // two groups of 8 columns
      const int at = group + next;
      if (first + at >= kGroups) continue;
      SumGroup<G> four;
      take_group<G>(four, sums, {tile, first + at});
      decltype(transform.column(0)) of_columns[2];
      transform.columns(col + at * 8 + lane % 4 * 2, of_columns);
#pragma unroll
      for (int half = 0; half < 2; ++half) {  // rows 0-7 and 8-15
        matrix[next * 2 + half] =
            pack(typename Output::Element{},
                 transformed<G>(four, half * 2, transform, of_rows.two[half], of_columns[0]),
                 transformed<G>(four, half * 2 + 1, transform, of_rows.two[half], of_columns[1]));
      }
    }
    const int column = swizzled<8>(lane % 16, group + lane / 16);
    stmatrix_x4(panel + lane % 16 * 128 + column * 16, matrix);
  }
}

/// C row-major, the long side along its rows, `end_m` of them; 64 rows at a time. Each warp turns
/// 16 rows x 64 columns into whole rows in its own shared memory, and stores 16 bytes a lane, 128 a
/// row: no warp waits for another, and the stores finish while the next tile is multiplied. The
/// fewer instructions the better: tensor cores at work on other sums slow down with each. Where n
/// is no multiple of 8, rows do not start at multiples of 16 bytes, and lanes store single
/// elements.
template <typename G, typename Output>
struct StoreRows {
  using Element = typename Output::Element;

  const Output& output;
  int end_m;
  unsigned char* staging;  // this warp's G::kStagingPanels panels, filled in turn

  /// The `tile`th 64 rows, which begin at (first_m, first_n) of C.
  __device__ __forceinline__ void operator()(const Accumulators<G>& sums, int tile, int first_m,
                                             int first_n) const {
    constexpr int kGroups = G::kOutputColumns;
    const WarpRows rows;
    const int row = first_m + rows.first(0);
    const OfRows of_rows(output.transform, row);
    __syncwarp();  // the last call's panels have been read
#pragma unroll
    for (int panel = 0; panel < kGroups; panel += 8) {
      unsigned char* staged = staging + panel / 8 % G::kStagingPanels * kPanelBytes;
      if constexpr (G::kStagingPanels == 1) __syncwarp();  // else the last but one has been read
      stage_panel<G>(sums, tile, panel, shared_address(staged), output, of_rows,
                     first_n + panel * 8);
      __syncwarp();
      const int columns = smaller(smaller(8, kGroups - panel) * 8, output.n - first_n - panel * 8);
      if (output.n % 8 == 0) {
        store_chunks(staged, row, first_n + panel * 8, columns);
      } else {
        store_elements(staged, row, first_n + panel * 8, columns);
      }
    }
  }

  /// A panel, of which `columns` are in the tile and in C.
  __device__ __forceinline__ void store_chunks(const unsigned char* staged, int row, int col,
                                               int columns) const {
    const int lane = WarpRows().lane;
    const int row_read = lane / 8, chunk = lane % 8;
    Element* to = output.c + static_cast<long long>(row + row_read) * output.n + col + chunk * 8;
#pragma unroll
    for (int part = 0; part < 16; part += 4) {
      const int column = swizzled<8>(part + row_read, chunk);
      const Chunk value =
          *reinterpret_cast<const Chunk*>(staged + (part + row_read) * 128 + column * 16);
      if (chunk * 8 < columns && row + row_read + part < end_m) {
        *reinterpret_cast<Chunk*>(to + static_cast<long long>(part) * output.n) = value;
      }
    }
  }
  __device__ __forceinline__ void store_elements(const unsigned char* staged, int row, int col,
                                                 int columns) const {
    const int lane = WarpRows().lane;
#pragma unroll 1
    for (int at = lane; at < 16 * 64; at += 32) {
      const int line = at / 64, column = at % 64;
      if (column >= columns || row + line >= end_m) continue;
      const unsigned char* from =
          staged + line * 128 + swizzled<8>(line, column / 8) * 16 + column % 8 * 2;
      output.c[static_cast<long long>(row + line) * output.n + col + column] =
          *reinterpret_cast<const Element*>(from);
    }
  }
};

/// C as StoreRows, but the copy engine takes each panel of 16 rows x 64 columns away: four stores
/// and four loads of a lane become one instruction of one lane. Rows from `end_m` on are only left
/// out when they are the matrix's last. Before the block ends, all threads call
/// tma_store_wait_read<0>.
template <typename G, typename Output>
struct StoreBoxes {
  const Output& output;
  int end_m;
  unsigned staging;  // this warp's panels

  __device__ __forceinline__ void operator()(const Accumulators<G>& sums, int tile, int first_m,
                                             int first_n) const {
    constexpr int kGroups = G::kOutputColumns;
    constexpr int kPanels = cdiv(kGroups, 8);
    static_assert(kGroups >= 8, "a box has 64 columns");
    const WarpRows rows;
    const int row = first_m + rows.first(0);
    const OfRows of_rows(output.transform, row);
    if constexpr (G::kStagingPanels >= 4 && G::kStagingPanels % (2 * kPanels) == 0) {
      store_at_once(sums, tile, row, first_n, of_rows);
      return;
    }
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      // The last box begins early enough to end with the tile, and repeats columns of the one
      // before.
      const int first = smaller(panel * 8, kGroups - 8);
      const int col = first_n + first * 8;
      const unsigned buffer = staging + panel % G::kStagingPanels * kPanelBytes;
      // Whatever the last call left must have gone, unless the buffers' turns go on with this one.
      if (panel == 0 && kPanels % G::kStagingPanels != 0) {
        tma_store_wait_read<0>();
      } else {
        tma_store_wait_read<G::kStagingPanels - 1>();
      }
      __syncwarp();
      stage_panel<G>(sums, tile, first, buffer, output, of_rows, col);
      fence_for_tma();
      __syncwarp();
      if (rows.lane == 0) {
        if (row < end_m && col < output.n) tma_store(*output.c_map, buffer, row, col);
        tma_store_commit();
      }
    }
  }

  /// The same where there is room for the panels of several 64 rows, which leave together.
  template <typename Rows>
  __device__ __forceinline__ void store_at_once(const Accumulators<G>& sums, int tile, int row,
                                                int first_n, const Rows& of_rows) const {
    constexpr int kPanels = cdiv(G::kOutputColumns, 8), kParts = G::kStagingPanels / kPanels;
    const unsigned panels = staging + tile % kParts * kPanels * kPanelBytes;
    tma_store_wait_read<G::kOutputTiles % kParts == 0 ? kParts - 1 : 0>();
    __syncwarp();
    const auto each_panel = [&](const auto& use) {
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        const int first = smaller(panel * 8, G::kOutputColumns - 8);
        use(panels + panel * kPanelBytes, first, first_n + first * 8);
      }
    };
    each_panel([&](unsigned panel, int first, int col) {
      stage_panel<G>(sums, tile, first, panel, output, of_rows, col);
    });
    fence_for_tma();
    __syncwarp();
    if (WarpRows().lane > 0) return;
    each_panel([&](unsigned panel, int, int col) {
      if (row < end_m && col < output.n) tma_store(*output.c_map, panel, row, col);
    });
    tma_store_commit();
  }
};

/// Stores that take one group of 8 columns of outputs: four a thread. `row` is the first of the
/// warp's 16 rows on the long side, `col` the first of the 8 on the wide side.

/// C straight from registers, whichever side is the long one.
template <typename G, typename Output>
struct StoreGroup {
  const Output& output;
  int end_m;

  __device__ __forceinline__ void operator()(const SumGroup<G>& group, int row, int col) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    using Element = typename Output::Element;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at_long = row + half * 8 + lane / 4, at_wide = col + lane % 4 * 2;
      const auto& transform = output.transform;
      if constexpr (G::kSwap) {  // transposes each 8 x 8 so that neighbours lie in a row
        const auto column = transform.column(at_long);
        const unsigned pair = movmatrix_transposed(pack(
            Element{}, transformed<G>(group, half * 2, transform, transform.row(at_wide), column),
            transformed<G>(group, half * 2 + 1, transform, transform.row(at_wide + 1), column)));
        store_pair(pair, col + lane / 4, row + half * 8 + lane % 4 * 2);
      } else {
        const auto of_row = transform.row(at_long);
        decltype(transform.column(0)) of_columns[2];
        transform.columns(at_wide, of_columns);
        const unsigned pair =
            pack(Element{}, transformed<G>(group, half * 2, transform, of_row, of_columns[0]),
                 transformed<G>(group, half * 2 + 1, transform, of_row, of_columns[1]));
        store_pair(pair, at_long, at_wide);
      }
    }
  }

  __device__ __forceinline__ void store_pair(unsigned pair, int at_m, int at_n) const {
    if (at_m >= end_m || at_n >= output.n) return;
    auto* to = output.c + static_cast<long long>(at_m) * output.n + at_n;
    if (output.n % 2 == 0) {
      *reinterpret_cast<unsigned*>(to) = pair;
    } else {
      to[0].bits = static_cast<unsigned short>(pair);
      if (at_n + 1 < output.n) to[1].bits = static_cast<unsigned short>(pair >> 16);
    }
  }
};

/// The sums as they are, to be added to others later, by threads that lie as these do: group after
/// group of 8 columns of 64 rows of a tile, 16 bytes a thread of the 128 that hold it. Stores of
/// whole rows would touch eight lines an instruction, these touch four, and fill them.
template <typename G>
struct PartialTile {
  float* sums;

  /// Where a group of a block's tile begins, counted in floats.
  static ASSAY_HD constexpr int offset(Group group) {
    return (group.tile * (G::kWide / 8) + group.column) * 512;
  }
  __device__ __forceinline__ void store(const float (&four)[4], Group group) const {
    const int thread = static_cast<int>(threadIdx.x % 128);
    *reinterpret_cast<Quad*>(sums + offset(group) +
                             thread * 4) = {{four[0], four[1], four[2], four[3]}};
  }
  __device__ __forceinline__ Quad load(Group group) const {
    const int thread = static_cast<int>(threadIdx.x % 128);
    return *reinterpret_cast<const Quad*>(sums + offset(group) + thread * 4);
  }
};
