#pragma once

// From a warpgroup's sums to memory. An epilogue is put together from a map, which changes pairs of
// sums (add a bias, apply an activation), and a store, which knows where they go.

#include "common/ptx/cp_async.cuh"
#include "common/ptx/cvt.cuh"
#include "common/ptx/movmatrix.cuh"
#include "common/ptx/stmatrix.cuh"
#include "common/ptx/tma.cuh"
#include "common/swizzle.cuh"

/// A map: called with the sums at (row, col) and (row, col + 1) of C before they are rounded.
struct KeepSums {
  __device__ __forceinline__ void operator()(float&, float&, int, int) const {}
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

constexpr int kPanelBytes = 16 * 128;  // 16 rows of 64 columns

/// Rounds a warp's 16 rows x 64 columns, from group `first` of 8 columns on, into a panel of shared
/// memory: rows of 128 bytes, swizzled as the copy engine does it. (row, col) is where the panel
/// begins in C.
template <typename Element, typename Map, int kHalf>
__device__ __forceinline__ void stage_panel(const float (&sums)[kHalf], int first, unsigned panel,
                                            const Map& map, int row, int col) {
  constexpr int kGroups = kHalf / 4;
  const int lane = WarpRows().lane;
#pragma unroll
  for (int group = 0; group < smaller(8, kGroups - first); group += 2) {
    unsigned matrix[4] = {};  // what lies beyond the last group is not read
#pragma unroll
    for (int part = 0; part < 4; ++part) {  // rows 0-7 and 8-15, then the next 8 columns
      const int at = group + part / 2;
      if (first + at >= kGroups) continue;
      const float* from = &sums[(first + at) * 4 + part % 2 * 2];
      float pair[2] = {from[0], from[1]};
      map(pair[0], pair[1], row + part % 2 * 8 + lane / 4, col + at * 8 + lane % 4 * 2);
      matrix[part] = pack(Element{}, pair[0], pair[1]);
    }
    const int column = swizzled<8>(lane % 16, group + lane / 16);
    stmatrix_x4(panel + lane % 16 * 128 + column * 16, matrix);
  }
}

/// C [m, n], row-major, the long side along m; 64 rows at a time. Each warp turns 16 rows x 64
/// columns into whole rows in its own shared memory, and stores 16 bytes a lane, 128 a row: no warp
/// waits for another, and the stores finish while the next tile is multiplied. The fewer
/// instructions the better: tensor cores at work on other sums slow down with each. Where n is no
/// multiple of 8, rows do not start at multiples of 16 bytes, and lanes store single elements.
///
/// kStagingPanels = panels of a warp's shared memory, filled in turn.
template <typename Element, int kStagingPanels, typename Map = KeepSums>
struct StoreRows {
  Element* c;
  int m, n;
  unsigned char* staging;  // this warp's panels
  Map map = {};

  template <int kHalf>
  __device__ __forceinline__ void operator()(const float (&sums)[kHalf], int first_m,
                                             int first_n) const {
    constexpr int kGroups = kHalf / 4;  // of 8 columns
    const WarpRows rows;
    const int row = first_m + rows.first(0);
    __syncwarp();  // the last call's panels have been read
#pragma unroll
    for (int panel = 0; panel < kGroups; panel += 8) {
      unsigned char* staged = staging + panel / 8 % kStagingPanels * kPanelBytes;
      if constexpr (kStagingPanels == 1) __syncwarp();  // else the last but one has been read
      stage_panel<Element>(sums, panel, shared_address(staged), map, row, first_n + panel * 8);
      __syncwarp();
      const int columns = smaller(smaller(8, kGroups - panel) * 8, n - first_n - panel * 8);
      if (n % 8 == 0) {
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
    Element* to = c + static_cast<long long>(row + row_read) * n + col + chunk * 8;
#pragma unroll
    for (int part = 0; part < 16; part += 4) {
      const int column = swizzled<8>(part + row_read, chunk);
      const Chunk value =
          *reinterpret_cast<const Chunk*>(staged + (part + row_read) * 128 + column * 16);
      if (chunk * 8 < columns && row + row_read + part < m) {
        *reinterpret_cast<Chunk*>(to + static_cast<long long>(part) * n) = value;
      }
    }
  }
  __device__ __forceinline__ void store_elements(const unsigned char* staged, int row, int col,
                                                 int columns) const {
    const int lane = WarpRows().lane;
#pragma unroll 1
    for (int at = lane; at < 16 * 64; at += 32) {
      const int line = at / 64, column = at % 64;
      if (column >= columns || row + line >= m) continue;
      const unsigned char* from =
          staged + line * 128 + swizzled<8>(line, column / 8) * 16 + column % 8 * 2;
      c[static_cast<long long>(row + line) * n + col + column] =
          *reinterpret_cast<const Element*>(from);
    }
  }
};

/// C [m, n] as StoreRows, but the copy engine takes each panel of 16 rows x 64 columns away: four
/// stores and four loads of a lane become one instruction of one lane. Before the block ends, all
/// threads call tma_store_wait_read<0>.
template <typename Element, int kStagingPanels, typename Map = KeepSums>
struct StoreBoxes {
  const TensorMap* c;  // boxes of 16 x 64, 128 bytes swizzled
  int m, n;
  unsigned staging;  // this warp's panels
  Map map = {};

  template <int kHalf>
  __device__ __forceinline__ void operator()(const float (&sums)[kHalf], int first_m,
                                             int first_n) const {
    constexpr int kGroups = kHalf / 4;  // of 8 columns
    constexpr int kPanels = cdiv(kGroups, 8);
    static_assert(kGroups >= 8, "a box has 64 columns");
    const WarpRows rows;
    const int row = first_m + rows.first(0);
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      // The last box begins early enough to end with the tile, and repeats columns of the one
      // before.
      const int first = smaller(panel * 8, kGroups - 8);
      const int col = first_n + first * 8;
      const unsigned buffer = staging + panel % kStagingPanels * kPanelBytes;
      // Whatever the last call left must have gone, unless the buffers' turns go on with this one.
      if (panel == 0 && kPanels % kStagingPanels != 0) {
        tma_store_wait_read<0>();
      } else {
        tma_store_wait_read<kStagingPanels - 1>();
      }
      __syncwarp();
      stage_panel<Element>(sums, first, buffer, map, row, col);
      fence_for_tma();
      __syncwarp();
      if (rows.lane == 0) {
        if (row < m && col < n) tma_store(*c, buffer, row, col);
        tma_store_commit();
      }
    }
  }
};

/// The stores below take one group of 8 columns: four sums a thread, `row` the first of the warp's
/// 16 rows of the long side, `col` the first of the 8 on the wide side.

/// C [m, n] as StoreRows, straight from registers.
template <typename Element, typename Map = KeepSums>
struct StoreGroup {
  Element* c;
  int m, n;
  Map map = {};

  __device__ __forceinline__ void operator()(float (&group)[4], int row, int col) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at_m = row + half * 8 + lane / 4, at_n = col + lane % 4 * 2;
      map(group[half * 2], group[half * 2 + 1], at_m, at_n);
      store_pair(pack(Element{}, group[half * 2], group[half * 2 + 1]), at_m, at_n);
    }
  }

  __device__ __forceinline__ void store_pair(unsigned pair, int at_m, int at_n) const {
    if (at_m >= m || at_n >= n) return;
    Element* to = c + static_cast<long long>(at_m) * n + at_n;
    if (n % 2 == 0) {
      *reinterpret_cast<unsigned*>(to) = pair;
    } else {
      to[0].bits = static_cast<unsigned short>(pair);
      if (at_n + 1 < n) to[1].bits = static_cast<unsigned short>(pair >> 16);
    }
  }
};

/// C [m, n] with the long side along n: transposes each 8 x 8 so that neighbours lie in a row.
template <typename Element>
struct StoreGroupTransposed {
  Element* c;
  int m, n;

  __device__ __forceinline__ void operator()(float (&group)[4], int row, int col) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const StoreGroup<Element> store = {c, m, n};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const unsigned pair =
          movmatrix_transposed(pack(Element{}, group[half * 2], group[half * 2 + 1]));
      store.store_pair(pair, col + lane / 4, row + half * 8 + lane % 4 * 2);
    }
  }
};

/// The sums as they are, to be added to others later, by threads that lie as these do: group after
/// group of 8 columns of 64 rows of a tile, 16 bytes a thread of the 128 that hold it. `row` and
/// `col` count from the tile's corner. Stores of whole rows would touch eight lines an instruction,
/// these touch four, and fill them.
template <int kWide>
struct StoreFragment {
  float* tile;
  bool live;  // false: a rehearsal

  /// Where a group begins, counted in floats.
  static __device__ __forceinline__ int offset(int row, int col) {
    return (row / 64 * (kWide / 8) + col / 8) * 512;
  }
  __device__ __forceinline__ void operator()(const float (&group)[4], int row, int col) const {
    const int thread = static_cast<int>(threadIdx.x) % 128;
    if (!live) return;
    *reinterpret_cast<Quad*>(tile + offset(row, col) +
                             thread * 4) = {{group[0], group[1], group[2], group[3]}};
  }
};

/// Hands every group of 64 rows' sums to a store.
template <typename Store, int kHalf>
__device__ __forceinline__ void store_groups(float (&sums)[kHalf], const Store& store,
                                             int first_long, int first_wide) {
  const WarpRows rows;
#pragma unroll
  for (int group = 0; group < kHalf / 4; ++group) {
    float four[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) four[e] = sums[group * 4 + e];
    store(four, first_long + rows.first(0), first_wide + group * 8);
  }
}
