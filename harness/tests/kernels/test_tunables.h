#pragma once

#include "common/types.cuh"
#include "common/wgmma/geometry.cuh"

/// Tunables of a main loop that tests change one by one:
///   struct Split : TestTunables { static constexpr int kSplitK = 4; };
struct TestTunables {
  using Element = Bf16;
  static constexpr int kBlockM = 128;
  static constexpr int kHeights = 1;
  static constexpr int kBlockN = 64;
  static constexpr int kBlockK = 64;
  static constexpr int kStages = 4;
  static constexpr Mode kMode = Mode::single;
  static constexpr bool kSwap = false;
  static constexpr bool kPersistent = false;
  static constexpr int kClusterM = 1;
  static constexpr int kClusterN = 1;
  static constexpr int kClusterK = 1;
  static constexpr int kSplitK = 1;
  static constexpr bool kAtomic = false;
  static constexpr Schedule kSchedule = Schedule::row;
  static constexpr int kGroupM = 1;
  static constexpr bool kStream = false;
  static constexpr bool kOverlap = false;
  static constexpr StoreBy kStoreBy = StoreBy::lanes;
};
