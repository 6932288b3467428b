#pragma once

// When the second launch of a sparse FFN, which only waits for the first before it reads H, begins.

#include "common/ptx/grid_dependency.cuh"

/// at_once: memory is asked for both weights together. when_asked: once `up` has filled its ring
/// for the first time, so that nobody's rows of W2 come ahead of its rows of W1.
enum class DownBegins { at_once, when_asked };

/// In `up`: lets `down` begin, if this is the time.
template <DownBegins kNow>
__device__ __forceinline__ void let_down_begin() {
  if constexpr (DownBegins::DOWN_BEGINS == kNow) grid_release();
}
