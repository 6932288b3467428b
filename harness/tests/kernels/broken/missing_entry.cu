// Must end as compile/missing_entry: the contract names an entry that the source does not have.
// Contract: add.yaml with
//   launches: [{entry: not_in_the_source, grid: [blocks], block: [BLOCK]}]

extern "C" __global__ void missing_entry(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
