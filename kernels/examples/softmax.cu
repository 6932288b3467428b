// A warp owns a row and reads it once: the largest value so far and the sum of powers go along, and
// the sum is scaled anew whenever a larger value comes ("online softmax"). WARPS rows to a block.
constexpr int kWarps = WARPS;
constexpr int kVector = VECTOR;

static_assert(kWarps >= 1 && kWarps <= 32, "a block is 1 to 32 warps");
static_assert(kVector == 1 || kVector == 2 || kVector == 4, "a load moves 4, 8 or 16 bytes");

struct alignas(4 * kVector) Pack {
  float lane[kVector];
};

/// The largest value of some, and the sum of exp(value - largest) over them.
struct Powers {
  float largest = -__int_as_float(0x7F800000);
  float sum = 0;

  __device__ void add(float other_largest, float other_sum) {
    const float next = fmaxf(largest, other_largest);
    if (other_sum == 0) return;  // nothing yet, and infinities have no difference
    sum = sum * __expf(largest - next) + other_sum * __expf(other_largest - next);
    largest = next;
  }
};

extern "C" __global__ void __launch_bounds__(kWarps * 32)
    softmax(const float* x, float* out, int m, int n) {
  const int row = blockIdx.x * kWarps + threadIdx.x / 32;
  if (row >= m) return;
  const Pack* in = reinterpret_cast<const Pack*>(x + (long long)row * n);
  Pack* to = reinterpret_cast<Pack*>(out + (long long)row * n);
  const int lane = threadIdx.x % 32;
  Powers powers;
  for (int i = lane; i < n / kVector; i += 32) {
    const Pack pack = in[i];
    for (const float value : pack.lane) powers.add(value, 1);
  }
  for (int step = 16; step > 0; step /= 2) {
    powers.add(__shfl_xor_sync(~0u, powers.largest, step), __shfl_xor_sync(~0u, powers.sum, step));
  }
  const float scale = 1 / powers.sum;
  for (int i = lane; i < n / kVector; i += 32) {  // from L2, where the row still is
    Pack pack = in[i];
    for (float& value : pack.lane) value = __expf(value - powers.largest) * scale;
    to[i] = pack;
  }
}
