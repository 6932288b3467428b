#pragma once

// Moves registers between the warpgroups of a block (sm_90a). All warps of a warpgroup execute it,
// in a kernel whose register count at entry is fixed by __launch_bounds__(threads, 1).

/// Gives registers back until kRegisters are left, a multiple of 8 from 24 to 256.
template <int kRegisters>
__device__ __forceinline__ void registers_shrink() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

/// Waits until kRegisters are to be had.
template <int kRegisters>
__device__ __forceinline__ void registers_grow() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
