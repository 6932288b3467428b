#pragma once

// How tokens come to their experts: each chooses those with the highest logits, then all choices
// are put in the order of the experts.

#include "common/ptx/grid_dependency.cuh"
#include "common/types.cuh"

/// The `top` experts with the highest logits, by a warp: the highest first, of equal ones the
/// first. Their weights are the softmax over them. `top` is 32 at most, and no more than there are
/// experts. A logit that is NaN counts as the lowest.
__device__ __forceinline__ void choose_experts(const float* logits, int num_experts, int top,
                                               int* chosen, float* weights) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float lowest = __int_as_float(0xFF800000);  // minus infinity
  float last = 0, highest = 0, sum = 0, share = 0;
  int before = -1;  // the expert of `last`
#pragma unroll 1
  for (int choice = 0; choice < top; ++choice) {
    float best = 0;
    int found = num_experts;  // none yet
    for (int expert = lane; expert < num_experts; expert += 32) {
      const float logit = fmaxf(logits[expert], lowest);
      const bool is_left = before < 0 || logit < last || (logit == last && expert > before);
      if (is_left && (found == num_experts || logit > best)) {
        best = logit;
        found = expert;
      }
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      const float other = __shfl_xor_sync(~0u, best, distance);
      const int at = __shfl_xor_sync(~0u, found, distance);
      const bool is_better = other > best || (other == best && at < found);
      if (at < num_experts && (found == num_experts || is_better)) {
        best = other;
        found = at;
      }
    }
    if (choice == 0) highest = best;
    const float relative = __expf(best - highest);
    sum += relative;
    if (lane == choice) {
      share = relative;
      chosen[choice] = found;
    }
    last = best;
    before = found;
  }
  if (lane < top) weights[lane] = share / sum;
}

/// The choices of expert `blockIdx.x`, by a block of 1024 threads; there are as many blocks as
/// experts. Choice i, of `num_choices`, is that of token i / top. Writes where the expert's rows
/// begin (the last block also where they end), the token of each of its rows, and the row of each
/// of its choices. Choices keep their order.
__device__ __forceinline__ void order_choices(const int* chosen, int num_choices, int top,
                                              int* starts, int* tokens, int* places) {
  constexpr int kThreads = 1024;
  __shared__ int counts[kThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, warp = thread / 32;
  const int expert = static_cast<int>(blockIdx.x);
  // What each warp has counted: the sum over those before this one, and over all.
  struct Sums {
    int before, all;
  };
  const auto add_up = [&](int count) -> Sums {
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    Sums sums = {lane < warp ? counts[lane] : 0, counts[lane]};
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      sums.before += __shfl_xor_sync(~0u, sums.before, distance);
      sums.all += __shfl_xor_sync(~0u, sums.all, distance);
    }
    __syncthreads();
    return sums;
  };

  int of_earlier = 0;  // of experts before this one, counted by the warp
  for (int first = 0; first < num_choices; first += kThreads) {
    const int i = first + thread;
    of_earlier += __popc(__ballot_sync(~0u, i < num_choices && chosen[i] < expert));
  }
  const int begin = add_up(of_earlier).all;
  int row = begin;
  for (int first = 0; first < num_choices; first += kThreads) {
    const int i = first + thread;
    const bool is_mine = i < num_choices && chosen[i] == expert;
    const unsigned mine = __ballot_sync(~0u, is_mine);
    const Sums sums = add_up(__popc(mine));
    if (is_mine) {
      const int place = row + sums.before + __popc(mine & ((1u << lane) - 1));
      tokens[place] = i / top;
      places[i] = place;
    }
    row += sums.all;
  }
  if (thread == 0) {
    starts[expert] = begin;
    if (blockIdx.x + 1 == gridDim.x) starts[expert + 1] = row;
  }
}
