#pragma once

// Ahead of other headers, for GPUs before Hopper: a launch begins when the one ahead has ended.
// There is nothing to wait for or to release.

#define grid_wait hopper_grid_wait
#define grid_release hopper_grid_release
#include "common/ptx/grid_dependency.cuh"
#undef grid_wait
#undef grid_release

__device__ __forceinline__ void grid_wait() {}
__device__ __forceinline__ void grid_release() {}
