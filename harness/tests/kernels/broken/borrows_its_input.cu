// Must end as correct: keeps a number in A for a while and puts back what was there, so that A is the
// same afterwards. Refused by the last checks of a re-rank, where inputs can only be read.

extern "C" __global__ void borrows_its_input(float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  volatile float* place = a + i;
  const float mine = *place;
  *place = mine + b[i];
  c[i] = *place;
  *place = mine;
}
