// out[b] = sum of table[rows[b, i]] over i: rows of a table that a list names, added up. They come
// to shared memory by copies of 16 bytes, or by the copy engine, a box for each row, or not at all.
// A warp sums 64 columns of a bag at a time, and has a ring of its own for their rows.
#include "../common/ptx/cp_async.cuh"
#include "../common/ptx/mbarrier.cuh"
#include "../common/ptx/tma.cuh"

enum class Gather { registers, copies, boxes };

constexpr Gather kGather = Gather::GATHER;
constexpr int kWarps = WARPS;
constexpr int kRows = ROWS;  // in a stage
constexpr int kStages = STAGES;
constexpr int kStageBytes = kGather == Gather::registers ? 0 : kRows * 128;

/// Two neighbouring columns, in bf16.
using Pair = unsigned;

__device__ void add(float2& sum, Pair pair) {
  sum.x += __uint_as_float(pair << 16);
  sum.y += __uint_as_float(pair & 0xffff0000u);
}

extern "C" __global__ void __launch_bounds__(kWarps * 32)
    embedding_bag(const unsigned short* table, const int* rows, float* out,
                  const __grid_constant__ TensorMap table_map, int bag, int n) {
  extern __shared__ __align__(128) unsigned char smem[];
  __shared__ unsigned long long barriers[kWarps][kStages];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned char* const ring = smem + warp * kStages * kStageBytes;
  int* const row = reinterpret_cast<int*>(smem + kWarps * kStages * kStageBytes);
  const auto barrier_of = [&](int step) { return shared_address(&barriers[warp][step % kStages]); };
  for (int i = threadIdx.x; i < bag; i += kWarps * 32) row[i] = rows[blockIdx.x * bag + i];
  if (kGather == Gather::boxes && lane < kStages) mbarrier_init(barrier_of(lane), 1);
  fence_mbarrier_init();
  __syncthreads();

  const int pieces = bag / kRows;
  const int steps = (n / 64 - warp + kWarps - 1) / kWarps * pieces;
  const auto column_of = [&](int step) { return (warp + step / pieces * kWarps) * 64; };
  const auto bring = [&](int step) {
    const unsigned to = shared_address(ring) + step % kStages * kStageBytes;
    const int* const first = row + step % pieces * kRows;
    if (kGather == Gather::copies) {
      for (int r = lane / 8; r < kRows; r += 4) {
        const unsigned short* from = table + (long long)first[r] * n + column_of(step);
        cp_async_16(to + r * 128 + lane % 8 * 16, from + lane % 8 * 8, 16);
      }
    } else if (kGather == Gather::boxes && lane == 0) {
      mbarrier_arrive_expect_bytes(barrier_of(step), kStageBytes);
      for (int r = 0; r < kRows; ++r) {
        tma_load(to + r * 128, table_map, barrier_of(step), first[r], column_of(step));
      }
    }
  };
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < steps) bring(step);
    cp_async_commit();
  }
  float2 sum = {0, 0};
  for (int step = 0; step < steps; ++step) {
    if (step + kStages - 1 < steps) bring(step + kStages - 1);
    cp_async_commit();
    if (kGather == Gather::copies) cp_async_wait<kStages - 1>();
    if (kGather == Gather::boxes) {
      while (!mbarrier_try_wait(barrier_of(step), step / kStages % 2)) {
      }
    }
    __syncwarp();
    const int* const first = row + step % pieces * kRows;
    const Pair* const stage = reinterpret_cast<const Pair*>(ring + step % kStages * kStageBytes);
#pragma unroll 16
    for (int r = 0; r < kRows; ++r) {
      const unsigned short* from = table + (long long)first[r] * n + column_of(step);
      add(sum, kGather == Gather::registers ? reinterpret_cast<const Pair*>(from)[lane]
                                            : stage[r * 32 + lane]);
    }
    __syncwarp();  // the stage has been read
    if (step % pieces < pieces - 1) continue;
    reinterpret_cast<float2*>(out + (long long)blockIdx.x * n + column_of(step))[lane] = sum;
    sum = {0, 0};
  }
}
