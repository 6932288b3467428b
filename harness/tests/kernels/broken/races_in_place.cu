// Must end as correct: a stencil in place, whose blocks read their neighbours' elements and write
// their own a moment later. All blocks run at once, so it comes out right. Refused by the last checks
// of a re-rank, where other work keeps most SMs busy and some blocks run after others.

extern "C" __global__ void races_in_place(float* x, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  const float left = i > 0 && i < n ? x[i - 1] : 0, right = i + 1 < n ? x[i + 1] : 0;
  const float here = i < n ? x[i] : 0;
  for (int k = 0; k < 40; ++k) __nanosleep(1000);
  if (i < n) x[i] = 0.5f * here + 0.25f * (left + right);
}
