#pragma once

// The epilogue of a product whose outputs silu(gate) * up are e4m3 with a scale for each 128
// columns of a row. The two products of an output are two times 64 rows of the N side
// (wgmma/geometry.cuh), so that a block has 128 columns of each row of its tile: all that share
// a scale.

#include "common/fp8/block.cuh"
#include "common/quantise.cuh"

/// Where the outputs go. They pass through shared memory: kSwigluPitch bytes for each token of the
/// highest tile, then a float for each warp and token.
struct SwigluRows {
  unsigned char* y;  // [rows, n], n a multiple of 128
  float* scales;     // [n / 128, rows], padded to a multiple of 4 rows with zeros
  int rows, n;
  int staging;  // where that begins
};

/// Of a row of 128 outputs in shared memory: rows begin in different banks.
constexpr int kSwigluPitch = 144;

template <typename G>
struct WayOut<G, SwigluRows> {
  static_assert(G::kSwap && G::kProducts == 2 && G::kBlockN == 256,
                "a block has the 128 columns of a row that share a scale");
  static constexpr int kThreads = G::kSharers * 128;
  static constexpr int kBarrier = 3;  // of the threads that share a tile
  static constexpr int kGroups = G::kWide / 8;
  /// Of all tiles: the last one's outputs may still leave while the largest of the next are found.
  static constexpr int kHighest = G::kHighest;

  const SwigluRows& output;
  unsigned char* smem;
  const Work& work;
  int rank;
  int warpgroup;
  int end_m;
  bool live;

  /// Stores all when it is called for the last of the warpgroup's rows of the N side.
  __device__ __forceinline__ void store_rows(Accumulators<G>& sums, int i,
                                             const Corner& corner) const {
    if (i + 1 < G::kLongTiles) return;
    unsigned char* const panel = smem + output.staging;
    float* const largest = reinterpret_cast<float*>(panel + kHighest * kSwigluPitch);
    const WarpRows rows;
    find_largest(sums, largest + (warpgroup * 4 + rows.warp) * G::kWide);
    named_barrier_sync(kBarrier, kThreads);
    const int block = corner.n / 256;
    const int end = block * 128 < output.n ? end_m : 0;  // a cluster may reach beyond
    float* const scales = output.scales + static_cast<long long>(block) * padded_rows();
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const int token = group * 8 + rows.lane % 4 * 2;
      float by[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float most = 0;
#pragma unroll
        for (int warp = 0; warp < G::kSharers * 4; ++warp) {
          most = fmaxf(most, largest[warp * G::kWide + token + e]);
        }
        const float scale = most == 0 ? 1 : most / 448;
        by[e] = 1 / scale;
        const bool first = warpgroup == 0 && rows.warp == 0 && rows.lane < 4;
        if (first && corner.m + token + e < end) scales[corner.m + token + e] = scale;
      }
#pragma unroll
      for (int tile = 0; tile < G::kOutputTiles; ++tile) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float* two = &sums[tile * 2][group * 4 + half * 2];
          const unsigned packed = to_e4m3_pair(two[0] * by[0], two[1] * by[1]);
          const int column =
              rows.first(warpgroup * G::kOutputTiles + tile) + half * 8 + rows.lane / 4;
          panel[token * kSwigluPitch + column] = static_cast<unsigned char>(packed);
          panel[(token + 1) * kSwigluPitch + column] = static_cast<unsigned char>(packed >> 8);
        }
      }
    }
    named_barrier_sync(kBarrier, kThreads);
    const int thread = warpgroup * 128 + static_cast<int>(threadIdx.x) % 128;
    const int count = smaller(end - corner.m, G::kWide);
#pragma unroll 1
    for (int chunk = thread; chunk < count * 8; chunk += kThreads) {
      const int token = chunk / 8, column = chunk % 8 * 16;
      *reinterpret_cast<Chunk*>(output.y + static_cast<long long>(corner.m + token) * output.n +
                                block * 128 + column) =
          *reinterpret_cast<const Chunk*>(panel + token * kSwigluPitch + column);
    }
    const int padding = output.rows + thread;
    if (end == output.rows && padding < padded_rows()) scales[padding] = 0;
  }

 private:
  __device__ __forceinline__ int padded_rows() const { return cdiv(output.rows, 4) * 4; }

  /// Puts the outputs where the gates were, and the warp's largest of each token into `largest`.
  __device__ __forceinline__ void find_largest(Accumulators<G>& sums, float* largest) const {
    const int lane = WarpRows().lane;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      float most[2] = {};
#pragma unroll
      for (int tile = 0; tile < G::kOutputTiles; ++tile) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& gate = sums[tile * 2][group * 4 + e];
          gate = gate / (1 + __expf(-gate)) * sums[tile * 2 + 1][group * 4 + e];
          most[e % 2] = fmaxf(most[e % 2], fabsf(gate));
        }
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
#pragma unroll
        for (int step = 4; step < 32; step *= 2) {
          most[e] = fmaxf(most[e], __shfl_xor_sync(~0u, most[e], step));
        }
        if (lane < 4) largest[group * 8 + lane * 2 + e] = most[e];
      }
    }
  }
};
