#pragma once

// The tunables of gemm_mma, and what follows from them.

#include "common/schedule.cuh"

constexpr int kBlockM = BLOCK_M;
constexpr int kBlockN = BLOCK_N;
constexpr int kBlockK = BLOCK_K;
constexpr int kWarps = WARPS;
constexpr int kWarpsK = WARPS_K;
constexpr int kStages = STAGES;
constexpr int kGroupM = GROUP_M;
constexpr int kSplitK = SPLIT_K;
constexpr Schedule kSchedule = Schedule::SCHEDULE;

constexpr int kThreads = kWarps * 32;
constexpr int kGroupThreads = kThreads / kWarpsK;  // those that share one slice of BLOCK_K
constexpr WarpGrid kWarpGrid = divide_tile(kBlockM, kBlockN, kWarps / kWarpsK);

static_assert(kWarps % kWarpsK == 0, "WARPS_K groups of warps have equally many warps");
static_assert(kWarpGrid.m > 0, "every warp needs a piece of the tile with sides that 16 divides");

constexpr int kWarpM = kBlockM / larger(1, kWarpGrid.m);
constexpr int kWarpN = kBlockN / larger(1, kWarpGrid.n);
constexpr int kTilesM = kWarpM / 16;            // mma instructions down a warp's piece
constexpr int kTilesN = kWarpN / 8;             // and across
constexpr int kSteps = kBlockK / 16 / kWarpsK;  // mma steps that a warp makes in one slice

constexpr int kRowChunks = kBlockK / 8;  // 16-byte chunks in a row of a slice
constexpr int kRowBytes = kBlockK * 2;
constexpr int kSliceBytesA = kBlockM * kRowBytes;
constexpr int kStageBytes = (kBlockM + kBlockN) * kRowBytes;

static_assert((kBlockK & (kBlockK - 1)) == 0, "the swizzle needs rows of a power of two");
static_assert(kSteps >= 2 && kSteps % 2 == 0,
              "fragments are double-buffered: a warp makes an even number of steps in a slice");
static_assert(kThreads % kRowChunks == 0, "a thread copies the same column of every row it copies");
static_assert(kStages >= 2, "one slice is read while the next arrives");
static_assert(kTilesM * kTilesN * 4 <= 128, "more than 128 sums a thread leave no registers");
static_assert(kSplitK >= 1 && kGroupM >= 1, "there is at least one split and one row in a group");
