#pragma once

// A launch that may begin before the one ahead of it in its stream has ended (sm_90).

/// Waits until the launch ahead has ended and its writes are visible; does nothing when this launch
/// was not allowed to begin early.
__device__ __forceinline__ void grid_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/// Allows the launch behind to begin once all blocks have come here.
__device__ __forceinline__ void grid_release() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
