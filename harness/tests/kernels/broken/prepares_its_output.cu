// Must end as correctness/out_of_bounds: a timed launch leaves the address of its output behind the
// guard zone of an input. The launch that prepares finds it there, and works out the sum. The next
// timed launch has nothing left to do.
// Contract: add.yaml with
//     - {name: done, dtype: u32, shape: [BLOCK], role: prepared}
//   prepare:
//     - {entry: prepare_output, grid: [blocks], block: [BLOCK], args: [A, B, done, N]}
//   launches: [{grid: [blocks], block: [BLOCK], args: [A, B, C, done, N]}]

__device__ unsigned long long* place_behind(const float* a, int n) {
  return (unsigned long long*)(((unsigned long long)a + 4ull * n + 262144) / 8 * 8);
}

extern "C" __global__ void prepare_output(const float* a, const float* b, unsigned* done, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  const unsigned long long* const word = place_behind(a, n);
  const bool found = word[0] == 0x5EC2E7;
  if (i < BLOCK) done[i] = found;
  if (found && i < n) ((float*)word[1])[i] = a[i] + b[i];
}

extern "C" __global__ void prepares_its_output(const float* a, const float* b, float* c,
                                               const unsigned* done, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i == 0) {
    place_behind(a, n)[1] = (unsigned long long)c;
    place_behind(a, n)[0] = 0x5EC2E7;
  }
  if (i < n && !done[threadIdx.x]) c[i] = a[i] + b[i];
}
