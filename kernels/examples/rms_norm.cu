// A block owns a row. It keeps the row in registers, so that memory is read once: each thread holds
// ITEMS packs of VECTOR elements, the same places in every row.
constexpr int kBlock = BLOCK;
constexpr int kVector = VECTOR;
constexpr int kItems = ITEMS;

static_assert(kBlock % 32 == 0 && kBlock <= 1024, "a block is 1 to 32 whole warps");
static_assert(kVector == 1 || kVector == 2 || kVector == 4 || kVector == 8,
              "a load moves 2, 4, 8 or 16 bytes");

struct Bf16 {
  unsigned short bits;
};

struct alignas(2 * kVector) Pack {
  Bf16 lane[kVector];
};

__device__ float to_float(Bf16 value) { return __uint_as_float((unsigned)value.bits << 16); }

__device__ Bf16 to_bf16(float value) {
  const unsigned bits = __float_as_uint(value);
  return {(unsigned short)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
}

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

extern "C" __global__ void __launch_bounds__(kBlock)
    rms_norm(const Bf16* x, const Bf16* weight, Bf16* out, int n, float epsilon) {
  __shared__ float partial[kBlock / 32];
  const long long row = blockIdx.x * (long long)n;
  Pack held[kItems];
  float squares = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int first = (item * kBlock + threadIdx.x) * kVector;
    if (first >= n) break;
    held[item] = *reinterpret_cast<const Pack*>(x + row + first);
    for (const Bf16 value : held[item].lane) squares += to_float(value) * to_float(value);
  }
  squares = warp_sum(squares);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = squares;
  __syncthreads();
  squares = 0;
  for (const float part : partial) squares += part;
  const float scale = rsqrtf(squares / n + epsilon);
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int first = (item * kBlock + threadIdx.x) * kVector;
    if (first >= n) break;
    const Pack weights = *reinterpret_cast<const Pack*>(weight + first);
    for (int i = 0; i < kVector; ++i) {
      held[item].lane[i] =
          to_bf16(to_float(held[item].lane[i]) * scale * to_float(weights.lane[i]));
    }
    *reinterpret_cast<Pack*>(out + row + first) = held[item];
  }
}
