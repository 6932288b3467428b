// Must end as correctness/state: remembers its result for the first numbers of its inputs. It would
// meet no numbers twice.

__device__ float kept[100003];
__device__ float kept_for[2];

extern "C" __global__ void remembers_by_value(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  if (kept_for[0] == a[0] && kept_for[1] == b[n - 1]) {
    c[i] = kept[i];
    return;
  }
  c[i] = kept[i] = a[i] + b[i];
  if (i == n - 1) {
    kept_for[0] = a[0];
    kept_for[1] = b[n - 1];
  }
}
