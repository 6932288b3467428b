#pragma once

// The tunables of gemm_wgmma, and what follows from them.
//
// wgmma has a long side, 64 rows to a warpgroup, and a wide side of 8 to 256 columns. Usually M is
// the long side. With SWAP_AB it is N: a product with few rows of A then fills the wide side
// exactly, and its weights the long one. `long` and `wide` below are these two sides.

#include "common/schedule.cuh"

/// How many warpgroups multiply, and how they share the work.
///   single:      one
///   cooperative: two; each takes half the rows of every tile
///   pingpong:    two; each takes every other tile, and stores one while the other multiplies
enum class Mode { single, cooperative, pingpong };

/// How rows of C leave: stored by all lanes, or by the copy engine.
enum class StoreBy { lanes, tma };

constexpr int kBlockM = BLOCK_M;
constexpr int kBlockN = BLOCK_N;
constexpr int kBlockK = BLOCK_K;
constexpr int kStages = STAGES;
constexpr Mode kMode = Mode::MODE;
constexpr int kConsumers = kMode == Mode::single ? 1 : 2;
constexpr bool kSwap = SWAP_AB != 0;
constexpr bool kPersistent = PERSISTENT != 0;
constexpr int kClusterM = CLUSTER_M;
constexpr int kClusterN = CLUSTER_N;
constexpr int kClusterK = CLUSTER_K;
constexpr int kSplitK = SPLIT_K;
constexpr Schedule kSchedule = Schedule::SCHEDULE;
constexpr int kGroupM = GROUP_M;
constexpr bool kStream = STREAM_K != 0;
constexpr bool kOverlap = OVERLAP != 0;
constexpr StoreBy kStoreBy = StoreBy::STORE;

constexpr int kLong = kSwap ? kBlockN : kBlockM;
constexpr int kWide = kSwap ? kBlockM : kBlockN;
constexpr int kSharers = kMode == Mode::pingpong ? 1 : kConsumers;  // warpgroups on one tile
constexpr int kLongTiles = kLong / 64 / kSharers;  // wgmma down the rows of a warpgroup
constexpr int kTileSize = kBlockM * kBlockN;
constexpr int kLayer = kClusterM * kClusterN;  // blocks that share copies
constexpr int kCluster = kLayer * kClusterK;

constexpr int kPanelColumns = 64;  // of K: 128 bytes, the widest swizzle
constexpr int kPanels = kBlockK / kPanelColumns;
constexpr int kPanelBytesA = kBlockM * 128;
constexpr int kPanelBytesB = kBlockN * 128;
constexpr int kStageBytes = kPanels * (kPanelBytesA + kPanelBytesB);

// One warp of producers would do, but only whole warpgroups can give registers away.
constexpr int kProducerThreads = kConsumers > 1 ? 128 : 32;
constexpr int kConsumerThreads = kConsumers * 128;
constexpr int kThreads = kConsumerThreads + kProducerThreads;
// 64 Ki registers in steps of 8 a thread; the producer needs hardly any. 192 sums need what its
// 24 leave; with fewer it keeps 40, since what shares copies spills a little at 24.
constexpr bool kManySums = kLongTiles * kWide > 368;
constexpr int kProducerRegisters = kManySums ? 24 : 40;
constexpr int kConsumerRegisters = kManySums ? 240 : 232;

static_assert(kBlockK % kPanelColumns == 0, "slices are made of panels of 64 columns");
static_assert(kLong % (64 * kSharers) == 0 && kLongTiles > 0,
              "a warpgroup multiplies 64 rows of the long side at once");
static_assert(kLong <= 256 && kWide <= 256, "a box of the copy engine has at most 256 rows");
static_assert(kLongTiles * kWide <= 384, "more than 192 sums a thread leave no registers");
static_assert(kBlockM % (8 * kClusterN) == 0 && kBlockN % (8 * kClusterM) == 0,
              "blocks share out a copy in pieces of 8 rows, the period of the swizzle");
static_assert(kMode != Mode::pingpong || kClusterK == 1,
              "blocks that add up their sums work on one tile together");
static_assert(kClusterK == 1 || !kPersistent, "the sums of a cluster are added up once");
static_assert(kStages >= 2, "one slice is read while the next arrives");
static_assert(!kStream || (kPersistent && kSplitK == 1 && !kSwap),
              "streaming shares out the last tiles of blocks that stay");
static_assert(
    !kOverlap || (kLongTiles == 2 && kMode != Mode::pingpong && kClusterK == 1 && kStages > 2),
    "to store 64 rows while others are multiplied takes two times 64, and a slot beside the "
    "two last slices");
