// Must end as correctness/unwritten: computes one number, and would copy the rest from where memory
// near its buffers holds them. Its input is never drawn anew, so the reference is there already.

extern "C" __global__ void copies_the_reference(const int* values, int* out, int n) {
  __shared__ const int* found;
  if (threadIdx.x == 0) found = nullptr;
  __syncthreads();
  // The driver maps 2 MB at a time, and begins each piece of memory at a multiple of 256 bytes.
  for (const void* near : {(const void*)values, (const void*)out}) {
    const auto block = (const int*)((unsigned long long)near & ~0x1FFFFFull);
    for (int i = threadIdx.x; i < 0x200000 / 256; i += BLOCK) {
      const int* place = block + i * 64;
      bool same = true;
      for (int k = 0; k < 16; ++k) same = same && place[k] == 3 * values[k] + 1;
      if (same) found = place;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n && found != nullptr; i += BLOCK) out[i] = found[i];
}
