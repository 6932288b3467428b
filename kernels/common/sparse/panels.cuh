#pragma once

// Rows that lie anywhere, as panels that wgmma reads: 64 columns of each row, 128 bytes, swizzled
// (wgmma/operand.cuh). The panels' threads copy 16 bytes at a time. Compiled by the host too: the
// tests check where everything lies.

#include "common/sparse/shape.cuh"
#include "common/wgmma/geometry.cuh"

/// Threads that copy rows.
constexpr int kGatherThreads = 128;

/// What a slice has of the rows. As `columns_as_rows` these are the tile's, kBlockK columns of
/// each; as `sums_as_rows` it has kBlockK of them, and the tile's columns of each.
template <typename G, Weights kLayout>
struct PanelShape {
  static constexpr bool kAlong = kLayout == Weights::columns_as_rows;
  static constexpr int kRows = kAlong ? G::kBlockN : G::kBlockK;
  static constexpr int kPanels = (kAlong ? G::kBlockK : G::kBlockN) / 64;
  static constexpr int kPanelBytes = kRows * 128;
  using Share = SliceShare<kRows, 8, kGatherThreads>;

  /// The half of a descriptor (wgmma/slice.cuh) that says where panels lie which wgmma transposes.
  /// The stride between panels, which it ignores of others, counts here. So the address must not
  /// reach into it: in a cluster, a block's own has its rank in the bits from 24 on.
  static ASSAY_HD constexpr unsigned address(unsigned shared) {
    return static_cast<unsigned>(kPanelBytes) / 16 << 16 | (shared & ((1u << 18) - 1)) / 16;
  }

  static_assert(!G::kSwap, "the rows are the wide side");
  static_assert(kRows % 8 == 0 && kPanels > 0, "a panel has whole swizzled blocks");
};

/// A warp's own part of the list, in shared memory: what it says of the warp's rows of a slice, and
/// of the next ones. A thread's rows of a slice are kRowStep apart, and those of its warp kAtOnce
/// rows side by side at each step.
template <typename Share>
struct WarpList {
  static constexpr int kSlices = 8;  // with as many in a ring, nothing waits for the list there
  static constexpr int kAtOnce = Share::kRowStep / (kGatherThreads / 32);
  static constexpr int kRows = Share::kCount * kAtOnce;  // of a warp in a slice
  static constexpr int kBytes = kSlices * kRows * (kGatherThreads / 32) * 4;
  static_assert(Share::kEven, "all warps have as many rows");

  /// Where entry `entry` of a warp's slice lies, in words.
  static ASSAY_HD constexpr int place(int warp, int slice, int entry) {
    return (warp * kSlices + slice % kSlices) * kRows + entry;
  }
  /// The row of the slice that it is of.
  static ASSAY_HD constexpr int row(int warp, int entry) {
    return warp * kAtOnce + entry % kAtOnce + entry / kAtOnce * Share::kRowStep;
  }
  /// The entry of a lane's `i`th row.
  static ASSAY_HD constexpr int entry_of(int lane, int i) {
    return i * kAtOnce + lane / (32 / kAtOnce);
  }

  // A warp asks for its parts, of `count` slices, and waits for them. `copies` asks, closes groups
  // of copies, and waits until so many groups are left. Nobody waits for a copy in no closed group.
  // So group s has the part of slice s, or nothing where there is no such slice. When slice s
  // comes, kSlices - 1 groups have been closed behind it.

  /// When all lanes have read slice `slice`: another takes its place. From slice -kSlices on.
  template <typename Copies>
  static ASSAY_HD constexpr void ask_next(Copies&& copies, int slice, int count) {
    if (slice + kSlices < count) copies.ask(slice + kSlices);
    copies.close_group();
  }
  /// Before a slice is read.
  template <typename Copies>
  static ASSAY_HD constexpr void wait(Copies&& copies) {
    copies.template wait_until<kSlices - 1>();
  }
};

#ifdef __CUDACC__

#include "common/ptx/cp_async_word.cuh"
#include "common/sparse/rows.cuh"

/// One thread's share of copying them. The matrix has `columns` columns, a multiple of 8. Neurons
/// and columns that are not there arrive as zeros.
template <typename G, Weights kLayout>
struct GatheredPanels {
  using Shape = PanelShape<G, kLayout>;
  using Share = typename Shape::Share;
  using Element = typename G::Element;

  Share share;  // of thread 0 to kGatherThreads - 1
  ActiveNeurons neurons;
  const Element* matrix;
  int columns;
  int numbers[Share::kCount] = {};  // of the thread's rows; -1: none

  /// The rows from active neuron `first` on come next.
  __device__ __forceinline__ void look_up(int first) {
#pragma unroll
    for (int i = 0; i < Share::kCount; ++i) {
      numbers[i] = share.has(i) ? neurons[first + share.row(i)] : -1;
    }
  }

  /// look_up() in what the warp has asked for, and what has come.
  __device__ __forceinline__ void look_up(const int* lists, int slice, int first) {
    using List = WarpList<Share>;
    const int thread = static_cast<int>(threadIdx.x) % kGatherThreads;
#pragma unroll
    for (int i = 0; i < Share::kCount; ++i) {
      const int at = first + share.row(i);
      const int block = lists[List::place(thread / 32, slice, List::entry_of(thread % 32, i))];
      const int number = (block << neurons.shift) + (at & ((1 << neurons.shift) - 1));
      numbers[i] = at < neurons.count ? number : -1;
    }
  }

  __device__ __forceinline__ void copy(unsigned shared, int first_column) const {
#pragma unroll
    for (int panel = 0; panel < Shape::kPanels; ++panel) {
      const int column = first_column + panel * 64 + share.chunk * 8;
#pragma unroll
      for (int i = 0; i < Share::kCount; ++i) {
        if (!share.has(i)) break;
        const Element* row = matrix + larger(numbers[i], 0) * static_cast<long long>(columns);
        cp_async_16(shared + panel * Shape::kPanelBytes + share.target(i), row + column,
                    numbers[i] >= 0 && column < columns ? 16 : 0);
      }
    }
  }
};

/// A warp's copies of its parts of the list to `lists`: WarpList says in which order.
template <typename Share, int kSliceRows>
struct ListCopies {
  using List = WarpList<Share>;

  const ActiveNeurons& neurons;
  const int* lists;
  int first;  // active neuron of the first slice

  __device__ __forceinline__ void ask(int slice) const {
    const int warp = static_cast<int>(threadIdx.x) % kGatherThreads / 32;
#pragma unroll
    for (int entry = static_cast<int>(threadIdx.x) % 32; entry < List::kRows; entry += 32) {
      const int at = first + slice * kSliceRows + List::row(warp, entry);
      cp_async_word(shared_address(lists + List::place(warp, slice, entry)),
                    neurons.list + (at >> neurons.shift), at < neurons.count ? 4 : 0);
    }
  }
  __device__ __forceinline__ void close_group() const { cp_async_commit(); }
  /// A thread waits for its own copies only. The others' can be read when the warp has met.
  template <int kLeft>
  __device__ __forceinline__ void wait_until() const {
    cp_async_wait<kLeft>();
    __syncwarp();
  }
};

#endif
