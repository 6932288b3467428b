#pragma once

// What a block-scaled product is tuned in beside the tunables of wgmma/geometry.cuh.

#include "common/wgmma/geometry.cuh"

/// kSetsOfPartials: 1, or 2 so that a warpgroup's next slice is multiplied while one is added up.
/// kTakeTurns: the two warpgroups that share a tile multiply in turn, 64 rows of a slice at a time,
/// so that one adds while the other multiplies. kPanelsOfWarp: where a warp stages C, 1 or 2
/// panels. kSlicesOfTurn: how many slices a turn of the loop multiplies, with one set and A on the
/// long side. kStagger: each block begins its way through K at another place. kLookAhead: a block
/// that stays finds its next tile while the tensor cores have the first slice of this one.
template <typename Config, int kSetsOfPartials, bool kTakeTurns, int kPanelsOfWarp,
          int kProductsOfOutput = 1, int kSlicesOfTurn = 1, bool kStagger = false,
          bool kLookAhead = false>
struct ScaledGeometry : Staging<Geometry<Config, kProductsOfOutput>, kPanelsOfWarp> {
  using Base = Geometry<Config, kProductsOfOutput>;
  static constexpr bool kStaggered = Base::kStaggered || kStagger;
  static constexpr int kPartials = kSetsOfPartials;
  static constexpr int kUnroll = kSlicesOfTurn;
  static constexpr bool kLooksAhead = kLookAhead;
  static constexpr bool kInTurn = kTakeTurns;
  /// Rows of A's scales that arrive beyond a tile's: copies begin at multiples of four rows.
  static constexpr int kSpareScales = 0;
  static constexpr int kHighest = Base::kBlockM;  // of all tiles that share shared memory's layout
  static constexpr int kScaleRows = Base::kBlockM;  // of A's scales in a stage
  static constexpr bool kKeepsScales = false, kScalesAhead = false;
  static constexpr int kProducerRegisters = 24;
  static constexpr int kConsumerRegisters = 240;

  static_assert(kPartials == 1 || kPartials == 2);
  static_assert(!kInTurn || Base::kMode == Mode::cooperative, "two warpgroups share a tile");
  static_assert(Base::kMode != Mode::pingpong,
                "a warpgroup begins its next tile before it stores one");
  static_assert(!kStagger || (kPartials == 2 && Base::kCluster == 1 && Base::kSplitK == 1 &&
                              !Base::kPersistent),
                "a block that begins elsewhere has all of K of one tile");
  static_assert(!kLookAhead || Base::kPersistent, "a block that leaves has no next tile");
  static_assert(Base::kBlockK == 64 && !Base::kOverlap, "a slice is 128 columns of 8 bits");
};

/// The same with tiles that begin at any row of A.
template <typename Config, int kSetsOfPartials, bool kTakeTurns, int kPanelsOfWarp,
          int kProductsOfOutput = 1>
struct AnyRowGeometry
    : ScaledGeometry<Config, kSetsOfPartials, kTakeTurns, kPanelsOfWarp, kProductsOfOutput> {
  static constexpr int kScaleBoxes = Config::kBlockM > 252 ? 2 : 1;  // a box has at most 256 rows
  static constexpr int kSpareScales = kScaleBoxes > 1 ? 64 : 4;
  static constexpr int kScaleRows = Config::kBlockM + kSpareScales;
  /// A warp beside the one that copies multiplies A's scales of a slice by B's, and lays the
  /// products out as consumers read them (scales_ahead.cuh).
  static constexpr bool kScalesAhead = Config::kSwap && Config::kMode == Mode::cooperative &&
                                       Config::kBlockN == 128 && kProductsOfOutput == 1;
  /// Else A's scales of a slice are read once for all of a warpgroup's rows of the N side: they lie
  /// at no multiple of 8 bytes, so that each is a load.
  static constexpr bool kKeepsScales = Config::kSwap;
  static constexpr int kProducerRegisters = kScalesAhead ? 40 : 24;
  static constexpr int kConsumerRegisters = kScalesAhead ? 232 : 240;
  // A block of 384 threads is launched with 168 registers a thread. A warp that asks for more than
  // others have given up waits for ever.
  static_assert(kProducerRegisters + 2 * kConsumerRegisters <= 3 * 168);
};
