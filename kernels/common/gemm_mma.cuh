#pragma once

// C[M,N] = A[M,K] @ B[N,K]^T with mma.sync: the body of gemm_mma.cu and gemm_mma_f16.cu.
//
// A block owns a BLOCK_M x BLOCK_N tile of C, or one of SPLIT_K partial sums of it. Slices of
// BLOCK_K columns of A and B pass through a ring of STAGES slots in shared memory: STAGES - 1 of
// them are on their way while one is multiplied. Warps divide the tile between them, and with
// WARPS_K > 1 also the columns of a slice, which suits tiles too small for all warps.

#include "common/epilogue.cuh"
#include "common/gemm_config.cuh"
#include "common/slice_copy.cuh"
#include "common/warp_mma.cuh"

template <typename Element>
struct Operands {
  SliceCopy<Element, kBlockM> a;
  SliceCopy<Element, kBlockN> b;

  __device__ __forceinline__ void start(unsigned stage, int part, int parts) {
    a.start(stage, part, parts);
    b.start(stage + kSliceBytesA, part, parts);
  }
  __device__ __forceinline__ void advance() {
    a.advance();
    b.advance();
  }
};

/// Past the last slice there is nothing to copy. A branch says so when a warp has little to
/// multiply and every instruction counts; otherwise copies that read nothing are cheaper than a
/// branch, which would keep the compiler from mixing copies and mma instructions.
constexpr bool kSkipPastEnd = kTilesM * kTilesN < 16;

/// The fast way: rows of A and B are aligned to 16 bytes. Copies of later slices and reads of the
/// next step's fragments are under way while the tensor cores work on this step's.
template <typename Element>
__device__ __forceinline__ void multiply_slices(Sums& sums, Operands<Element>& operands,
                                                const FragmentReader& reader, int num_slices,
                                                unsigned smem) {
#pragma unroll 1
  for (int slice = 0; slice < kStages - 1; ++slice) {
    operands.start(smem + slice * kStageBytes, 0, 1);
    operands.advance();
    cp_async_commit();
  }
  cp_async_wait<kStages - 2>();
  __syncthreads();

  Fragments fragments[2];
  const unsigned last_stage = smem + (kStages - 1) * kStageBytes;
  unsigned read_stage = smem;
  unsigned write_stage = last_stage;
  reader.read(fragments[0], read_stage, 0);

#pragma unroll 1
  for (int slice = 0; slice < num_slices; ++slice) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step == kSteps - 1) {
        // All warps have read this slot's last fragments and the next slot's copies have landed.
        cp_async_wait<kStages - 2>();
        __syncthreads();
        read_stage = read_stage == last_stage ? smem : read_stage + kStageBytes;
        reader.read(fragments[0], read_stage, 0);
      } else {
        reader.read(fragments[(step + 1) % 2], read_stage, step + 1);
      }
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
        // The slot written here was last read before the barrier above. Copies are spread over the
        // steps so that they do not queue up in front of the fragment reads.
        if (step < kSteps - 1 && (!kSkipPastEnd || slice + kStages - 1 < num_slices)) {
          operands.start(write_stage, step * kTilesM + i, (kSteps - 1) * kTilesM);
        }
        multiply_row<Element>(sums, fragments[step % 2], i);
      }
      if (step == kSteps - 2) {
        cp_async_commit();
        operands.advance();
        write_stage = write_stage == last_stage ? smem : write_stage + kStageBytes;
      }
    }
  }
  cp_async_wait<0>();
}

/// The way for every other K and alignment: one slot, filled an element at a time.
template <typename Element>
__device__ __forceinline__ void multiply_slices_unaligned(Sums& sums, Operands<Element>& operands,
                                                          const FragmentReader& reader,
                                                          int num_slices, unsigned char* smem) {
  Fragments fragments;
#pragma unroll 1
  for (int slice = 0; slice < num_slices; ++slice) {
    operands.a.copy_elements(smem);
    operands.b.copy_elements(smem + kSliceBytesA);
    operands.advance();
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < kSteps; ++step) {
      reader.read(fragments, shared_address(smem), step);
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) multiply_row<Element>(sums, fragments, i);
    }
    __syncthreads();
  }
}

template <typename Element>
__device__ __forceinline__ void gemm_tile(const Element* a, const Element* b, Element* c,
                                          float* partial, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char smem[];
  const Tile tile =
      tile_at(kSchedule, static_cast<int>(blockIdx.x), cdiv(m, kBlockM), cdiv(n, kBlockN), kGroupM);
  const int split = static_cast<int>(blockIdx.z);
  const SliceRange slices = slices_of(split, kSplitK, cdiv(k, kBlockK));
  const int first_m = tile.m * kBlockM, first_n = tile.n * kBlockN;
  const int first_k = slices.first * kBlockK;
  const int end_k = smaller(k, (slices.first + slices.count) * kBlockK);

  const WarpPlace place;
  const FragmentReader reader(place);
  Operands<Element> operands = {{a, first_m, m, k, first_k, end_k},
                                {b, first_n, n, k, first_k, end_k}};
  const auto addresses =
      reinterpret_cast<unsigned long long>(a) | reinterpret_cast<unsigned long long>(b);
  Sums sums = {};
  if (k % 8 == 0 && addresses % 16 == 0) {
    multiply_slices(sums, operands, reader, slices.count, shared_address(smem));
  } else {
    multiply_slices_unaligned(sums, operands, reader, slices.count, smem);
  }
  __syncthreads();

  if constexpr (kWarpsK > 1) add_groups(sums, place.k_group, reinterpret_cast<float*>(smem));
  if constexpr (kSplitK > 1) {
    float* own = partial + static_cast<long long>(split) * m * n;
    store_partial(sums, place, own, first_m, first_n, m, n);
  } else {
    store_tile(sums, place, c, first_m, first_n, m, n, smem);
  }
}
