// A warp to a row. Each pass finds the largest value behind the one before; of equal ones the
// first.
extern "C" __global__ void top_k_naive(const float* x, float* out, int m, int n, int k) {
  x += (long long)blockIdx.x * n;
  float last = __int_as_float(0x7F800000);
  int last_at = -1;
  for (int pass = 0; pass < k; ++pass) {
    float best = -__int_as_float(0x7F800000);
    int best_at = n;
    for (int i = threadIdx.x; i < n; i += 32) {
      const bool is_left = x[i] < last || (x[i] == last && i > last_at);
      if (is_left && x[i] > best) best = x[i], best_at = i;
    }
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(~0u, best, step);
      const int other_at = __shfl_xor_sync(~0u, best_at, step);
      if (other > best || (other == best && other_at < best_at)) best = other, best_at = other_at;
    }
    if (threadIdx.x == 0) out[(long long)blockIdx.x * k + pass] = best;
    last = best;
    last_at = best_at;
  }
}
