#pragma once

// The main loop of a block-scaled product of e4m3: that of wgmma/loop.cuh with scales. To the
// headers of wgmma/ two columns of 8 bits are one of 16, so that a slice has 64 columns there and
// 128 here, and K is half of what it is here.
//
// The tensor cores multiply one slice of 64 rows, and keep few bits of its sums. So those sums,
// the partial ones, leave the tensor cores after each slice and are added to the sums in registers,
// times the slice's scales. Meanwhile the tensor cores have the other warpgroup's slice, or, with
// two sets of partial sums, this one's next.

#include "common/fp8/geometry.cuh"
#include "common/fp8/scales.cuh"
#include "common/ptx/wgmma_fp8.cuh"
#include "common/wgmma/loop.cuh"

/// What else a warpgroup does while the tensor cores multiply: meanwhile() once, when they have the
/// work's first slice, and what the sums hold until then is the last tile's; look_ahead() when they
/// have the last 64 rows of that slice; with one set of partial sums, finish(i) when the `i`th 64
/// rows are final and they have the next, for all but the last.
template <typename Meanwhile, typename LookAhead, typename Finish>
struct LoopHooks {
  Meanwhile meanwhile;
  LookAhead look_ahead;
  Finish finish;
};

/// A warpgroup's half: multiplies the work's first `count` slices. `warpgroup` is its number among
/// those that share the tile. With two sets of partial sums, the next slice is multiplied while one
/// is added, within a run of slices: ptxas takes wgmma one by one if sums are read while a wgmma
/// from before a jump is under way. Hooks is a LoopHooks.
template <typename G>
struct ScaledLoop {
  static constexpr int kLongTiles = G::kLongTiles, kHalf = G::kWide / 2;
  static constexpr int kSets = G::kPartials;
  static constexpr bool kTight = kSets == 1 && !G::kSwap;
  static constexpr bool kFinishEarly = kSets == 1 && G::kClusterK == 1 && G::kProducts == 1;
  // Where more of the last tile's sums are to be stored, ptxas would spill some.
  static constexpr bool kIssueFirst =
      G::kProducts == 1 && ((kSets == 1 && kLongTiles > 1) || (kLongTiles + kSets) * kHalf <= 128);
  static constexpr int kSteps = 4;  // of 32 columns, 32 bytes

  const Ring<G::kStages>& ring;
  RingPlace<G::kStages>& place;
  unsigned stages;
  const unsigned char* smem;
  int warpgroup;
  TileScales<G>& scales;
  const Work& work;
  int count;
  bool backwards;
  int release_to;
  bool full = false;               // the stage at `place`, for all that is known
  const float* of_next = nullptr;  // B's scales of the slice that comes next, with kTight

  /// Issues the wgmma of 64 rows of a slice. The slices are given as panel_address.
  __device__ __forceinline__ void issue(float (&partial)[kHalf], unsigned long_rows,
                                        unsigned wide_rows) const {
    const Turns turn = {warpgroup};
    wgmma_fence();
    if constexpr (G::kInTurn) turn.take();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      WgmmaFp8<kHalf * 2>::multiply(partial, panel_descriptor(long_rows + step * 2),
                                    panel_descriptor(wide_rows + step * 2), step > 0);
    }
    wgmma_commit();
    if constexpr (G::kInTurn) turn.pass();
  }

  /// Slices `first` to `first` + kSlices - 1; kBegin: the work's first.
  template <int kSlices, bool kBegin, typename Hooks>
  __device__ __forceinline__ void multiply(Accumulators<G>& sums, int first, const Hooks& hooks) {
    const unsigned long_rows = panel_address(stages + warpgroup * kLongTiles * 64 * 128);
    const unsigned wide_rows = panel_address(stages + G::kLong * 128);
    float partial[kSets][kHalf];
    PartialScale<G> scale[kSets];
    int stage = 0, last_stage = 0;
    unsigned parity = 0;
    const auto promote = [&](int chunk, int of_stage) {
      pin(partial[chunk % kSets]);
      if (chunk % kLongTiles == kLongTiles - 1) release<G>(ring, of_stage, release_to);
      scales.template promote<!kBegin>(sums[chunk % kLongTiles], partial[chunk % kSets],
                                       scale[chunk % kSets]);
    };
#pragma unroll
    for (int chunk = 0; chunk < kSlices * kLongTiles; ++chunk) {
      const int slice = first + chunk / kLongTiles, tile = chunk % kLongTiles;
      if (tile == 0) {
        if (!full) ring.wait_full(place);
        last_stage = stage;
        stage = place.stage;
        parity = place.parity;
        place.advance();
      }
      if (kBegin && chunk == 0 && !kIssueFirst) hooks.meanwhile();
      const unsigned offset = static_cast<unsigned>(stage * (G::kStageBytes / 16));
      issue(partial[chunk % kSets], long_rows + offset + tile * 512, wide_rows + offset);
      const Ring<G::kStages> products = products_ring<G>(stages);
      if (G::kScalesAhead && tile == 0) products.wait_full({stage, parity});
      scales.take(scale[chunk % kSets], smem + scales_offset<G>(stage),
                  warpgroup * kLongTiles + tile, tile == 0);
      if (G::kScalesAhead && tile == kLongTiles - 1) mbarrier_arrive(products.empty(stage));
      if (tile == kLongTiles - 1) {
        if constexpr (!G::kScalesAhead) {
          scales.fetch(slice_at<G>(work, smaller(slice + 1, count - 1), backwards));
        }
        full = ring.is_full(place);
      }
      if (kBegin && chunk == 0 && kIssueFirst) hooks.meanwhile();
      if (kBegin && chunk == kLongTiles - 1) hooks.look_ahead();
      if constexpr (kSets == 1) {
        if (kFinishEarly && tile > 0 && slice + 1 == count) hooks.finish(tile - 1);
        wgmma_wait<0>();
        promote(chunk, stage);
      } else if (chunk > 0) {
        wgmma_wait<1>();
        promote(chunk - 1, tile == 0 ? last_stage : stage);
      }
    }
    if constexpr (kSets == 2) {
      wgmma_wait<0>();
      promote(kSlices * kLongTiles - 1, stage);
    }
  }

  /// The same with one set and A on the long side, in as few instructions as can be: tensor cores
  /// wait for those that stand between two wgmma of a warpgroup. kEnd: the work's last slices.
  template <int kSlices, bool kBegin, bool kEnd, typename Hooks>
  __device__ __forceinline__ void multiply_tightly(Accumulators<G>& sums, const Hooks& hooks) {
    const bool last = kEnd || (kBegin && count == 1);
    const unsigned long_rows = panel_address(stages + warpgroup * kLongTiles * 64 * 128);
    const unsigned wide_rows = panel_address(stages + G::kLong * 128);
    float partial[kHalf];
    PartialScale<G> scale;
#pragma unroll
    for (int slice = 0; slice < kSlices; ++slice) {
      ring.wait_full(place);
      const int stage = place.stage;
      const unsigned offset = static_cast<unsigned>(stage * (G::kStageBytes / 16));
#pragma unroll
      for (int tile = 0; tile < kLongTiles; ++tile) {
        if (kBegin && tile == 0 && !kIssueFirst) hooks.meanwhile();
        scales.take_here(scale, stages + scales_offset<G>(stage), warpgroup * kLongTiles + tile);
        if (tile == kLongTiles - 1) {
          if (!last) of_next += backwards ? -1 : 1;
          scales.fetch_at(of_next);
        }
        issue(partial, long_rows + offset + tile * 512, wide_rows + offset);
        if (kBegin && tile == 0 && kIssueFirst) hooks.meanwhile();
        if (kBegin && tile == kLongTiles - 1) hooks.look_ahead();
        if constexpr (kFinishEarly && (kBegin || kEnd)) {
          if (tile > 0 && last) hooks.finish(tile - 1);
        }
        wgmma_wait<0>();
        pin(partial);
        if (tile == kLongTiles - 1) {
          release<G>(ring, stage, release_to);
          place.advance();
        }
        scales.template promote<!kBegin>(sums[tile], partial, scale);
      }
    }
  }

  template <typename Hooks>
  __device__ __forceinline__ void operator()(Accumulators<G>& sums, const Hooks& hooks) {
    if (count == 0) {
      hooks.meanwhile();
      hooks.look_ahead();
#pragma unroll
      for (int i = 0; i < kLongTiles; ++i) {
#pragma unroll
        for (int j = 0; j < kHalf; ++j) sums[i][j] = 0;
      }
      return;
    }
    if constexpr (kTight) {
      of_next = scales.b + slice_at<G>(work, 0, backwards);
      multiply_tightly<1, true, false>(sums, hooks);
      int slice = 1;
#pragma unroll 1
      for (; slice + G::kUnroll < count; slice += G::kUnroll) {
        multiply_tightly<G::kUnroll, false, false>(sums, hooks);
      }
      if constexpr (G::kUnroll > 1) {
#pragma unroll 1
        for (; slice + 1 < count; ++slice) multiply_tightly<1, false, false>(sums, hooks);
      }
      if (slice < count) multiply_tightly<1, false, true>(sums, hooks);
      return;
    }
    constexpr int kRun = kSets == 1 ? 1 : cdiv(4, kLongTiles);
    multiply<1, true>(sums, 0, hooks);
    int slice = 1;
#pragma unroll 1
    for (; slice + kRun <= count; slice += kRun) {
      multiply<kRun, false>(sums, slice, hooks);
    }
    if constexpr (kRun > 1) {
#pragma unroll 1
      for (; slice < count; ++slice) multiply<1, false>(sums, slice, hooks);
    }
  }
};
